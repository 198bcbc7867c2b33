# tests of the jobs room
