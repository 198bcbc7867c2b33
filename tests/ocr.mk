# tests of the ocr room
