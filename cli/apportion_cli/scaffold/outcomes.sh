# The tests are the base branch's; `$head` is the folder of the changed policy, which they simulate.
if [ ! -d tests ]; then echo "apportion: the base branch has no tests of outcomes"; exit 0; fi
pytest --rootdir . -p no:cacheprovider --apportion-policies "$head" tests
