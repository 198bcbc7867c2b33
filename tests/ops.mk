# tests of the ops room
