# tests of the base room
