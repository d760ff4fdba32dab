package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// terminationLog is where a container leaves its last words for the status of the
// pod, which a node mounts; of them it takes the last maxMessage bytes.
const (
	terminationLog = "/dev/termination-log"
	maxMessage     = 4096
)

// A Node runs the containers of the pods of Jobs in one namespace: with command,
// arguments and environment as the pod says, and with what became of it in the
// pod's status. It has no images and isolates nothing.
type Node struct {
	cluster   *Cluster
	t         testing.TB
	namespace string
	files     map[string]string

	mu         sync.Mutex
	closed     bool
	known      map[string]bool // pods, by UID
	containers []*Container
	attended   sync.WaitGroup
}

// A Container is one that a Node has started.
type Container struct {
	*process.Process
	Pod     string
	message string // the file of its termination message
}

// RunJobs makes the test the node of a namespace, until it ends. Files are paths
// in the images, as commands and arguments have them, and the programs that stand
// for them here.
func (c *Cluster) RunJobs(t testing.TB, namespace string, files map[string]string) *Node {
	t.Helper()
	n := &Node{cluster: c, t: t, namespace: namespace, files: files, known: map[string]bool{}}
	c.nodes.Store(namespace, n)
	t.Cleanup(func() {
		n.close() // containers have stopped before, and none may start from here on
		n.attended.Wait()
	})
	return n
}

func (n *Node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
}

// Containers are those that were started so far, the oldest first.
func (n *Node) Containers() []*Container {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*Container(nil), n.containers...)
}

// Message is the termination message, as far as it is written.
func (c *Container) Message() string {
	data, err := os.ReadFile(c.message)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-maxMessage):])
}

// ExitCode is that of a container that has ended, as a node reports it; -1 before.
func (c *Container) ExitCode() int {
	ended := c.Ended()
	if ended == nil {
		return -1
	}
	failed, ok := errors.AsType[*exec.ExitError](ended)
	if !ok {
		return 0
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return failed.ExitCode()
}

// A pod is what a Node reads of one.
type pod struct {
	Metadata struct {
		Name, Namespace, UID, DeletionTimestamp string
		Labels, Annotations                     map[string]string
		OwnerReferences                         []struct{ Kind string }
	}
	Spec struct {
		TerminationGracePeriodSeconds int
		InitContainers, Volumes       []Object
		Containers                    []struct {
			Name, Image   string
			Command, Args []string
			Env           []envVar
			EnvFrom       []Object
		}
	}
}

type envVar struct {
	Name, Value string
	ValueFrom   *struct {
		FieldRef     *struct{ FieldPath string }
		SecretKeyRef *struct{ Name, Key string }
	}
}

// admit starts the pod, once.
func (n *Node) admit(p pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.known[p.Metadata.UID] {
		return
	}
	n.known[p.Metadata.UID] = true
	program, message, err := n.resolve(p)
	if err != nil {
		n.t.Errorf("the pod %s cannot be run: %v", p.Metadata.Name, err)
		return
	}
	c := &Container{Process: process.Start(n.t, program), Pod: p.Metadata.Name, message: message}
	n.containers = append(n.containers, c)
	n.attended.Go(func() { n.attend(p, c) })
}

// resolve is what a node makes of a pod before it starts the container.
func (n *Node) resolve(p pod) (program process.Program, message string, err error) {
	spec := p.Spec
	if len(spec.Containers) != 1 || len(spec.InitContainers)+len(spec.Volumes)+len(spec.Containers[0].EnvFrom) > 0 || len(spec.Containers[0].Command) == 0 {
		return program, "", errors.New("want one container with a command, no volumes and no envFrom")
	}
	container := spec.Containers[0]
	home := filepath.Join(n.cluster.Dir, "pods", n.namespace, p.Metadata.Name)
	message = filepath.Join(home, "termination-log")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(message, nil, 0o600)); err != nil {
		return program, "", err
	}
	values := map[string]string{}
	var env []string
	for _, v := range container.Env {
		value, err := n.value(p, v, values)
		if err != nil {
			return program, "", fmt.Errorf("%s: %w", v.Name, err)
		}
		values[v.Name] = value
		env = append(env, v.Name+"="+value)
	}
	var args []string
	for _, arg := range append(container.Command, container.Args...) {
		name, path, flag := strings.Cut(expand(arg, values), "=")
		if !flag {
			path = name
		}
		if path == terminationLog {
			path = message
		} else if here, ok := n.files[path]; ok {
			path = here
		}
		if flag {
			path = name + "=" + path
		}
		args = append(args, path)
	}
	return process.Program{
		Name: n.namespace + "-" + p.Metadata.Name, Path: args[0], Args: args[1:], Env: env, Home: home, Logs: n.cluster.Logs,
		Grace: time.Duration(spec.TerminationGracePeriodSeconds) * time.Second,
	}, message, nil
}

// value is that of a variable, given those before it.
func (n *Node) value(p pod, v envVar, before map[string]string) (string, error) {
	switch from := v.ValueFrom; {
	case from == nil:
		return expand(v.Value, before), nil
	case from.FieldRef != nil:
		return p.field(from.FieldRef.FieldPath)
	case from.SecretKeyRef != nil:
		var secret struct{ Data map[string][]byte }
		if err := n.cluster.Get("/api/v1/namespaces/"+n.namespace+"/secrets/"+from.SecretKeyRef.Name, &secret); err != nil {
			return "", err
		}
		value, ok := secret.Data[from.SecretKeyRef.Key]
		if !ok {
			return "", fmt.Errorf("the Secret %s has no %s", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
		}
		return string(value), nil
	}
	return "", errors.New("want a value, a fieldRef or a secretKeyRef")
}

var entryOf = regexp.MustCompile(`^metadata\.(labels|annotations)\['([^']+)'\]$`)

// field is what the downward API gives for a path.
func (p pod) field(path string) (string, error) {
	switch path {
	case "metadata.name":
		return p.Metadata.Name, nil
	case "metadata.namespace":
		return p.Metadata.Namespace, nil
	case "metadata.uid":
		return p.Metadata.UID, nil
	}
	entry := entryOf.FindStringSubmatch(path)
	switch {
	case entry == nil:
		return "", fmt.Errorf("no field %s", path)
	case entry[1] == "labels":
		return p.Metadata.Labels[entry[2]], nil
	}
	return p.Metadata.Annotations[entry[2]], nil
}

var reference = regexp.MustCompile(`\$\$|\$\(([A-Za-z_][-.A-Za-z0-9_]*)\)`)

// expand replaces $(NAME) as Kubernetes does: $$ is a dollar sign, and what names
// no variable stays.
func expand(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := values[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// attend reports that the container runs and how it ended, and stops it when the
// pod is gone.
func (n *Node) attend(p pod, c *Container) {
	path := "/api/v1/namespaces/" + n.namespace + "/pods/" + p.Metadata.Name
	started := time.Now().UTC().Format(time.RFC3339)
	report := func(phase, ready string, state Object) error {
		container := p.Spec.Containers[0]
		return n.cluster.Patch(path+"/status", MergePatch, Object{"status": Object{
			"phase": phase, "startTime": started,
			"conditions": []Object{{"type": "Ready", "status": ready, "lastTransitionTime": started}},
			"containerStatuses": []Object{{
				"name": container.Name, "image": container.Image, "imageID": "", "restartCount": 0,
				"ready": ready == "True", "started": ready == "True", "state": state,
			}},
		}})
	}
	reported := false
	for ; c.Ended() == nil; time.Sleep(wait.Interval) {
		if !reported {
			reported = report("Running", "True", Object{"running": Object{"startedAt": started}}) == nil
		}
		var now pod
		if err := n.cluster.Get(path, &now); NotFound(err) || now.Metadata.DeletionTimestamp != "" {
			_ = c.Stop() // how it ends is in its log
		}
	}
	phase, reason := "Succeeded", "Completed"
	if c.ExitCode() != 0 {
		phase, reason = "Failed", "Error"
	}
	terminated := Object{
		"exitCode": c.ExitCode(), "reason": reason, "message": c.Message(),
		"startedAt": started, "finishedAt": time.Now().UTC().Format(time.RFC3339),
	}
	for !n.isClosed() {
		if err := report(phase, "False", Object{"terminated": terminated}); err == nil || NotFound(err) {
			return
		}
		time.Sleep(wait.Interval)
	}
}

func (n *Node) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}
