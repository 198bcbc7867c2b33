# tests of the cli room

dist_check_SCRIPTS += tests/test_cli_bench.sh tests/test_cli_model.sh
TESTS += tests/test_cli_bench.sh tests/test_cli_model.sh
