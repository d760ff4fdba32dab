package main

// What `hallmark random` says to a person.

const randomHelp = `Charts make passwords, keys and certificates at random, others on each render. With the
parameter determinism=derive hallmark makes them from a seed, the application and the
place where a value lives, so that each stays as it is: through a new version of the
chart, an unrelated commit, on each machine.

The seed is a file with 32 random bytes or more (head -c 32 /dev/urandom | base64). A
lost seed is a lost password: keep a copy where the platform team keeps its other root
keys. Whoever has the seed has all values that are derived from it.`

const randomExample = `  hallmark random list examples/checkout
  hallmark random show --seed-file seed-2027 --field Secret/db/data/password --reveal examples/checkout`

const randomListHelp = `Render the application in DIR (default: the current folder) as determinism=derive does,
and list the fields whose values are derived, never a value. It takes no seed, and with
one names it. What cannot be derived is named with the reason, and the exit code is 1.

NAME is where the random value lives: the field itself, or the one of a Secret that it is
shared with. It is what the parameter random-generations rotates:

  --param 'random-generations[Secret/db/data/password]=1'

In a kustomization the objects and fields are those that its charts print.

With -o json the same is one object:

  app, path  what was rendered, and from which folder of the repository
  seed       the name of the seed, where one is given
  fields     each with object, field (a JSON pointer), reason (what the value is made of,
             such as randAlphaNum or certificate), names (a list) and generation (how
             often it was rotated)`

const randomListExample = `  hallmark random list examples/checkout
  hallmark random list --app checkout --namespace shop -o json examples/checkout`

const randomShowHelp = `Print one derived value to standard output, and nothing else: for recovery, where the seed
and the repository are all that is left. The data of a Secret is printed decoded.

The value is that of the application that the flags describe: --app, --namespace and
--project are part of it, as Argo CD has them, and have to be given; so are the parameters
that rotate.`

const randomShowExample = `  hallmark random show --seed-file seed-2027 --project shop --app checkout --namespace shop \
    --field Secret/db/data/password --reveal examples/checkout`
