package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"hallmark.dev/hallmark/internal/collector"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger/controller"
)

// projectFlags are the flags of `hallmark ledger project`.
type projectFlags struct {
	ledgerFlags
	databases             string
	watch                 bool
	interval              time.Duration
	namespace, kubeconfig string
	allNamespaces         bool
	httpAddress           string
	output                string
	logFormat, logLevel   string
}

const (
	// projectMemory is how far memory may grow before it is collected more often, in
	// bytes: a thousand objects of twenty changes stay below 64 MiB with it.
	projectMemory = 48 << 20
	minInterval   = time.Second
)

func ledgerProjectCommand(env *environment) *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{
		Use: "project", Short: "Write what the database has into the status of MigrationLedgers",
		Long: ledgerProjectHelp, Example: ledgerProjectExample, Args: ledgerArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return env.project(cmd.Context(), &f) },
	}
	f.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.databases, "databases", "", "`folder` with a file for each database, which has its name and holds its address; a change is read without a restart (default: one database, \"default\", with the address above)")
	flags.BoolVar(&f.watch, "watch", false, "go on until SIGTERM, and serve each change")
	flags.DurationVar(&f.interval, "interval", 15*time.Second, "how often a database is asked with --watch")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "`namespace` of the objects (default: that of the kubeconfig's context or of the pod)")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "`file` that says where the API server is (default: the pod's account, else $KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&f.httpAddress, "http-address", "127.0.0.1:8088", "`address` of /metrics, /healthz and /readyz with --watch; empty for none")
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of what is printed without --watch: text or json")
	flags.StringVar(&f.logFormat, "log-format", "json", "`format` of the log with --watch: json or text")
	flags.StringVar(&f.logLevel, "log-level", "info", "the lowest `level` that is logged: debug, info, warn or error")
	return cmd
}

func (env *environment) project(ctx context.Context, f *projectFlags) error {
	collector.LimitMemory(projectMemory)
	o, closeAll, err := f.options(env)
	if err != nil {
		return err
	}
	defer closeAll()
	c, err := controller.New(*o)
	if err != nil {
		return err
	}
	if f.watch {
		return f.observed(ctx, c, o)
	}
	outcomes, err := c.Once(ctx)
	if err != nil && len(outcomes) == 0 { // an empty list would say that there are none
		return err
	}
	text, formatted := printOutcomes(outcomes, f.output)
	_, written := env.stdout.Write(text)
	return errors.Join(err, formatted, written)
}

func (f *projectFlags) options(env *environment) (o *controller.Options, closeAll func(), err error) {
	switch {
	case f.output != "text" && f.output != "json":
		return nil, nil, usageError{fmt.Errorf("-o: got %q, want text or json", f.output)}
	case f.interval < minInterval:
		return nil, nil, usageError{fmt.Errorf("--interval: got %s, want %s or more", f.interval, minInterval)}
	case f.allNamespaces && f.namespace != "":
		return nil, nil, usageError{errors.New("--namespace and --all-namespaces exclude each other")}
	}
	o = &controller.Options{
		Schema: f.schema, Interval: f.interval, Log: slog.New(slog.DiscardHandler),
		Now: time.Now, Random: rand.Float64, Version: hallmarkVersion(),
	}
	log, err := newLog(env.stderr, f.logFormat, f.logLevel)
	if err != nil {
		return nil, nil, err
	}
	if f.watch { // otherwise what is printed says it
		o.Log = log
	}
	databases, err := f.openDatabases(env)
	if err != nil {
		return nil, nil, err
	}
	o.Databases = databases.use
	if o.API, o.Namespace, err = f.cluster(); err != nil {
		return nil, nil, err
	}
	switch {
	case f.allNamespaces:
		o.Namespace = ""
	case f.namespace != "":
		o.Namespace = f.namespace
	}
	return o, databases.close, nil
}

// cluster is where the API server is, and the namespace that goes with it.
func (f *projectFlags) cluster() (*rest.Config, string, error) {
	if info, err := os.Stat(f.kubeconfig); err == nil && !info.Mode().IsRegular() { // a pipe may never end
		return nil, "", fmt.Errorf("--kubeconfig %q: it is not a regular file", f.kubeconfig)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := rest.InClusterConfig()
	if inCluster := err == nil && f.kubeconfig == ""; !inCluster {
		config, err = loading.ClientConfig()
	}
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", diag.WithHint(errors.New("no cluster is given"), hintNoCluster)
	}
	if err != nil {
		return nil, "", fmt.Errorf("--kubeconfig: %w", err)
	}
	namespace, _, err := loading.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("--kubeconfig: %w", err)
	}
	config.UserAgent = "hallmark/" + hallmarkVersion()
	return config, namespace, nil
}

// observed runs the controller beside its metrics and probes.
func (f *projectFlags) observed(ctx context.Context, c *controller.Controller, o *controller.Options) error {
	stop, err := observe(ctx, f.httpAddress, c.Handler(), o.Log)
	if err != nil {
		return err
	}
	defer stop()
	o.Log.Info("projecting", "version", o.Version, "namespace", o.Namespace, "interval", o.Interval.String())
	err = c.Watch(ctx)
	o.Log.Info("stopped")
	return err
}

// projected is an object of -o json; its fields are described in the help.
type projected struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Summary   string `json:"summary"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Error     string `json:"error,omitempty"`
}

func printOutcomes(outcomes []controller.Outcome, format string) ([]byte, error) {
	list := []projected{}
	for _, outcome := range outcomes {
		p := projected{Namespace: outcome.Namespace, Name: outcome.Name, Summary: outcome.Status.Summary}
		for _, c := range outcome.Status.Conditions {
			if c.Type == "Ready" {
				p.Ready, p.Reason, p.Message = c.Status == "True", c.Reason, c.Message
			}
		}
		if outcome.Err != nil {
			p.Error = outcome.Err.Error()
		}
		list = append(list, p)
	}
	if format == "json" {
		return indented(map[string]any{"ledgers": list})
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	for _, p := range list {
		ready := "not ready"
		if p.Ready {
			ready = "ready"
		}
		fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s\n", p.Namespace, p.Name, p.Summary, ready, p.Reason)
	}
	err := w.Flush()
	return out.Bytes(), err
}
