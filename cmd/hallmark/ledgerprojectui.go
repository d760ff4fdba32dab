package main

// What `hallmark ledger project` says to a person.

const ledgerProjectHelp = `Write what databases have of the changes that MigrationLedgers ask for into the status of
these objects, so that Argo CD, Flux, Helm and kubectl wait can wait for them. It reads
hallmark's own table and those of Flyway, Liquibase, golang-migrate, goose, Atlas and
Prisma, never writes to a database, and writes nothing but the status to the cluster.

Without --watch it does so once and prints a line for each object: its name, how many of
its changes are good, whether it is ready, and the reason. The exit code is 0 where every
status is up to date, whatever it says. With -o json the result is one object with a list,
ledgers: namespace, name, summary, ready, reason, message and, where the status is not up
to date, error.

With --watch it goes on: each database is asked once in an interval for the changes of all
objects, and a new object is served within about a second. A database that cannot be read
leaves the facts as they were, and the condition DatabaseUnreachable says so. Logs go to
standard error; --http-address serves /metrics, /healthz and /readyz.

An object names its database, and nothing that it says leads to an address. With
--databases that is the name of a file in the folder, such as a mounted Secret; a name
that begins with a dot is none. Without, there is one database, "default".

The account needs get, list and watch of migrationledgers and patch of
migrationledgers/status; the role in the database needs to read the tables.`

const ledgerProjectExample = `  hallmark ledger project --namespace shop
  hallmark ledger project --watch --all-namespaces --databases /etc/hallmark/databases --http-address :8088`

const (
	hintNoCluster = "name a kubeconfig with --kubeconfig or $KUBECONFIG, or run in a pod with a service account"
	hintDatabases = "an address is in the file DIR/NAME: in a Secret, the key is the name of the database"
)
