# tests of the cli room
