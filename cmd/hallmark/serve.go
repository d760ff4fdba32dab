package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/collector"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/server"
	"hallmark.dev/hallmark/plugin/stamp"
)

// serveFlags are the flags of `hallmark serve`.
type serveFlags struct {
	pluginsDir, name, version string
	httpAddress               string
	inFlight                  int
	cacheBytes                int64
	limits                    limitFlags
	trust                     trustFlags
	confine                   confineFlags
	hashKey, discover         string
	drainDelay, drainTimeout  time.Duration
	logFormat, logLevel       string
}

// serverMemory is how far memory may grow before it is collected more often, in
// bytes: enough for several large charts at once.
const serverMemory = 440 << 20

// defaultPluginsDir is where Argo CD's own manifests mount the plugins volume.
const defaultPluginsDir = "/home/argocd/cmp-server/plugins"

func serveCommand(env *environment) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Answer Argo CD's repo-server as a plugin",
		Long: serveHelp, Example: serveExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.serve(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.pluginsDir, "plugins-dir", "", "`folder` of the socket (default: $ARGOCD_PLUGINSOCKFILEPATH, else "+defaultPluginsDir+")")
	flags.StringVar(&f.name, "name", "hallmark", "`name` by which Applications choose the plugin")
	flags.StringVar(&f.version, "plugin-version", "", "`version` that Applications give behind the name, as in hallmark-v1")
	flags.StringVar(&f.httpAddress, "http-address", "127.0.0.1:8087", "`address` of /metrics, /healthz and /readyz; empty for none")
	flags.IntVar(&f.inFlight, "max-in-flight", 2*runtime.GOMAXPROCS(0), "the most requests that are worked on at once")
	flags.Int64Var(&f.cacheBytes, "cache-bytes", 64<<20, "about how many `bytes` of memory the cache takes; 0 for no cache")
	f.limits.register(cmd)
	f.trust.registerPolicy(cmd, pluginPolicy+"; a change of it is read without a restart")
	f.trust.registerKeys(cmd, pluginKeys)
	f.trust.seeds.register(cmd, pluginSeeds+"; a change of it is read without a restart")
	f.confine.register(cmd)
	flags.StringVar(&f.hashKey, "hash-key", "", hashKeyUsage)
	flags.StringVar(&f.discover, "discover", string(server.DiscoverNone), "`which` folders are taken for Applications that name no plugin: none, marked (with a hallmark.yaml) or all (those, charts and kustomizations); for each question repo-server sends the repository once more")
	flags.DurationVar(&f.drainDelay, "drain-delay", 5*time.Second, "how long requests are still taken after a signal to stop, for those that repo-server is in the middle of")
	flags.DurationVar(&f.drainTimeout, "drain-timeout", 20*time.Second, "how long requests may go on after that")
	flags.StringVar(&f.logFormat, "log-format", "json", "`format` of the log: json or text")
	flags.StringVar(&f.logLevel, "log-level", "info", "the lowest `level` that is logged: debug, info, warn or error")
	return cmd
}

func (env *environment) serve(ctx context.Context, f *serveFlags) error {
	collector.LimitMemory(serverMemory)
	options, err := f.options(env)
	if err != nil {
		return err
	}
	listener, err := server.Listen(ctx, cmp.Or(f.pluginsDir, env.getenv("ARGOCD_PLUGINSOCKFILEPATH"), defaultPluginsDir), f.name, f.version)
	if err != nil {
		return err
	}
	s := server.New(*options)
	stop, err := observe(ctx, f.httpAddress, s.Handler(), options.Log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stop()
	mounts := slices.Concat([]string{cmp.Or(f.trust.policy, policy.DefaultFile), f.hashKey}, f.trust.seeds.files, options.Keys.Paths)
	if err := f.confine.confine(options.Log, env, filepath.Dir(listener.Addr().String()), mounts...); err != nil {
		return errors.Join(err, listener.Close())
	}
	logKeys(options.Log, options.Keys)
	options.Log.Info("serving", "version", hallmarkVersion(), "socket", listener.Addr().String(), "maxInFlight", options.InFlight)
	err = s.Serve(ctx, listener)
	options.Log.Info("stopped")
	return err
}

func (f *serveFlags) options(env *environment) (*server.Options, error) {
	o := &server.Options{
		Discover: server.Discovery(f.discover), InFlight: f.inFlight, DrainDelay: f.drainDelay, DrainTimeout: f.drainTimeout,
		Version: hallmarkVersion(), Cache: plugin.NewCache(f.cacheBytes),
		Now: time.Now, NewID: rand.Text, Explain: describe, HealthChecked: healthChecked,
	}
	switch o.Discover {
	case server.DiscoverNone, server.DiscoverMarked, server.DiscoverAll:
	default:
		return nil, usageError{fmt.Errorf("--discover: got %q, want none, marked or all", f.discover)}
	}
	switch {
	case f.inFlight < 1:
		return nil, usageError{fmt.Errorf("--max-in-flight: got %d, want 1 or more", f.inFlight)}
	case f.cacheBytes < 0:
		return nil, usageError{fmt.Errorf("--cache-bytes: got %d, want 0 or more", f.cacheBytes)}
	case f.drainDelay < 0:
		return nil, usageError{fmt.Errorf("--drain-delay: got %s, want a duration such as 5s", f.drainDelay)}
	case f.drainTimeout < 0:
		return nil, usageError{fmt.Errorf("--drain-timeout: got %s, want a duration such as 20s", f.drainTimeout)}
	}
	if err := f.confine.check(); err != nil {
		return nil, err
	}
	var err error
	if o.Log, err = newLog(env.stderr, f.logFormat, f.logLevel); err != nil {
		return nil, err
	}
	env.policyFrom(&f.trust)
	if o.Policy, err = policy.Watch(cmp.Or(f.trust.policy, policy.DefaultFile), f.trust.policy == "", reportPolicy(o.Log)); err != nil {
		return nil, err
	}
	if o.Keys, err = env.pluginKeys(&f.trust); err != nil {
		return nil, err
	}
	seeds, err := f.trust.seeds.pluginFiles(env)
	if err != nil {
		return nil, err
	}
	if o.Seeds, err = watchSeeds(seeds, reportSeeds(o.Log)); err != nil {
		return nil, err
	}
	if o.TreeLimits, err = f.limits.set(&o.Limits); err != nil {
		return nil, err
	}
	key, err := readKey(f.hashKey)
	if err != nil {
		return nil, err
	}
	// A key that is too short is told here, and not with each Application.
	if _, err := stamp.Apply(nil, stamp.Provenance{}, stamp.Options{Key: key}); err != nil {
		return nil, fmt.Errorf("--hash-key: %w", err)
	}
	o.HashKey = key
	return o, nil
}

// logKeys says which private keys there are, by their public parts, and which files
// of keys are of no use, before a file fails for it.
func logKeys(log *slog.Logger, keys plugin.Keys) {
	identities, problems := keys.Inspect()
	if len(identities) > 0 {
		log.Info("keys for SOPS files", "keys", identities)
	}
	if len(problems) > 0 {
		log.Warn("keys for SOPS files that cannot be used", "problems", problems)
	}
}

// reportPolicy logs what became of a change of the policy.
func reportPolicy(log *slog.Logger) func(error) {
	return func(err error) {
		if err != nil {
			log.Error("the policy changed and is not taken: the rules stay as they were", "error", describe(err))
			return
		}
		log.Info("the policy changed and is in force")
	}
}

// reportSeeds logs what became of a change of the seeds.
func reportSeeds(log *slog.Logger) func(error) {
	return func(err error) {
		if err != nil {
			log.Error("the seeds changed and are not taken: those that were read before count", "error", describe(err))
			return
		}
		log.Info("the seeds changed and are in use")
	}
}

// newLog is the log that --log-format and --log-level ask for.
func newLog(w io.Writer, format, lowest string) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(lowest)); err != nil {
		return nil, usageError{fmt.Errorf("--log-level: got %q, want debug, info, warn or error", lowest)}
	}
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, usageError{fmt.Errorf("--log-format: got %q, want json or text", format)}
}

// observe serves metrics and probes at --http-address until it is stopped, also while a
// server drains.
func observe(ctx context.Context, address string, handler http.Handler, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--http-address: %w", err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving metrics and probes", "error", err.Error())
		}
	}()
	log.Info("serving metrics and probes", "address", listener.Addr().String())
	return func() { _ = web.Close() }, nil
}
