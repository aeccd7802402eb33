# The tests come from the base branch; `$head` is the directory of the changed policy, which they simulate.
if [ ! -d tests ]; then echo "apportion: the base branch has no outcome tests"; exit 0; fi
pytest --rootdir . -p no:cacheprovider --apportion-policies "$head" tests
