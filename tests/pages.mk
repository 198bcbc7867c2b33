# tests of rendered pages
