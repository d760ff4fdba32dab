package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"hallmark.dev/hallmark/e2e/wait"
)

// The kinds of patch that the tests use.
const (
	MergePatch = "application/merge-patch+json"
	JSONPatch  = "application/json-patch+json"
	apply      = "application/apply-patch+yaml" // JSON is YAML
)

// An Object is a Kubernetes object as decoded JSON.
type Object = map[string]any

// A StatusError is an answer other than success.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Code, e.Message) }

// NotFound reports whether err says that an object does not exist.
func NotFound(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	return ok && status.Code == http.StatusNotFound
}

// A client speaks to the API server in JSON; client-go would bring a module
// graph of its own for these few calls.
type client struct {
	url, token string
	http       *http.Client

	mu      sync.Mutex
	plurals map[string]resource // by apiVersion and kind
}

type resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

func newClient(url, token string, ca []byte) (*client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the API server's certificate is not PEM")
	}
	return &client{
		url: url, token: token, plurals: map[string]resource{},
		http: &http.Client{
			Timeout:   wait.Limit,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
		},
	}, nil
}

// Do sends one request and returns the body of the answer.
func (c *Cluster) Do(method, path, contentType string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, c.client.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.client.token)
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.client.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		var status struct{ Message string }
		if json.Unmarshal(data, &status) != nil || status.Message == "" {
			status.Message = string(data)
		}
		return nil, fmt.Errorf("%s %s: %w", method, path, &StatusError{response.StatusCode, status.Message})
	}
	return data, nil
}

// Get decodes the object or list at path into out.
func (c *Cluster) Get(path string, out any) error {
	data, err := c.Do(http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}

// Patch changes the object at path by a patch of the given kind.
func (c *Cluster) Patch(path, kind string, patch any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.Do(http.MethodPatch, path, kind, data)
	return err
}

// Apply makes the object, or makes it what it should be, as server-side apply
// does. An object is an Object or a struct that marshals to one.
func (c *Cluster) Apply(object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var id struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(data, &id); err != nil {
		return err
	}
	path, err := c.Path(id.APIVersion, id.Kind, id.Metadata.Namespace, id.Metadata.Name)
	if err != nil {
		return err
	}
	return c.ApplyYAML(path, data)
}

// ApplyYAML is Apply of one object as YAML, whose path the caller knows.
func (c *Cluster) ApplyYAML(path string, data []byte) error {
	_, err := c.Do(http.MethodPatch, path+"?fieldManager=e2e&force=true", apply, data)
	return err
}

// Path is the path of an object, from the server's own list of resources.
func (c *Cluster) Path(apiVersion, kind, namespace, name string) (string, error) {
	group := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		group = "/api/" + apiVersion
	}
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	r, known := c.client.plurals[apiVersion+" "+kind]
	if !known {
		var list struct{ Resources []resource }
		if err := c.Get(group, &list); err != nil {
			return "", err
		}
		for _, found := range list.Resources {
			if !strings.Contains(found.Name, "/") { // not a subresource
				c.client.plurals[apiVersion+" "+found.Kind] = found
			}
		}
		if r, known = c.client.plurals[apiVersion+" "+kind]; !known {
			return "", fmt.Errorf("the API server has no %s %s", apiVersion, kind)
		}
	}
	if r.Namespaced {
		group += "/namespaces/" + namespace
	}
	return group + "/" + r.Name + "/" + name, nil
}
