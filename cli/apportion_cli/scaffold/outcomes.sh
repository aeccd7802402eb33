# The tests are those of the base branch; they simulate the changed policy in the directory `$head`.
if [ ! -d tests ]; then echo "apportion: the base branch has no outcome tests"; exit 0; fi
pytest --rootdir . -p no:cacheprovider --apportion-policies "$head" tests
