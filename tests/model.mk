# tests of the model room
