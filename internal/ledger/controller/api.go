package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger/projection"
)

const (
	// FieldManager is the owner of the status, as managedFields name it.
	FieldManager = "hallmark-ledger"
	// pageSize is how many objects come at once: more take memory, fewer take requests.
	pageSize = 100
	// patience bounds a request that is no watch.
	patience = 30 * time.Second
)

// api is the part of the API server that is used.
type api struct {
	client    rest.Interface
	params    runtime.ParameterCodec
	namespace string
}

func newAPI(config *rest.Config, namespace string) (*api, error) {
	scheme := runtime.NewScheme()
	projection.AddToScheme(scheme)
	c := rest.CopyConfig(config)
	c.GroupVersion = &projection.GroupVersion
	c.APIPath = "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if c.QPS == 0 { // client-go's 5 a second would take minutes for the first thousand
		c.QPS, c.Burst = 50, 100
	}
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("the address of the API server: %w", err)
	}
	return &api{client, runtime.NewParameterCodec(scheme), namespace}, nil
}

// list is a page of the objects.
func (a *api) list(ctx context.Context, options metav1.ListOptions) (*knownList, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var list projection.MigrationLedgerList
	err := a.client.Get().NamespaceIfScoped(a.namespace, a.namespace != "").Resource(projection.Resource).
		VersionedParams(&options, a.params).Do(ctx).Into(&list)
	held := &knownList{MigrationLedgerList: list, Items: make([]known, 0, len(list.Items))}
	held.MigrationLedgerList.Items = nil
	for i := range list.Items {
		held.Items = append(held.Items, *hold(&list.Items[i]))
	}
	return held, err
}

func (a *api) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	w, err := a.client.Get().NamespaceIfScoped(a.namespace, a.namespace != "").Resource(projection.Resource).
		VersionedParams(&options, a.params).Watch(ctx)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if o, ok := e.Object.(*projection.MigrationLedger); ok { // it can be an error as well
			e.Object = hold(o)
		}
		return e, true
	}), nil
}

// get is all of an object.
func (a *api) get(ctx context.Context, k *known) (*projection.MigrationLedger, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var o projection.MigrationLedger
	err := a.client.Get().Namespace(k.Namespace).Resource(projection.Resource).Name(k.Name).Do(ctx).Into(&o)
	if apierrors.IsNotFound(err) || err == nil && o.UID != k.UID {
		return nil, errGone
	}
	return &o, err
}

// application is what is applied: the status, and whose it is.
type application struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        identity          `json:"metadata"`
	Status          projection.Status `json:"status"`
}

// identity has the UID, so that the status of an object is not written to another one
// that took its name.
type identity struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// errGone is that there is no such object.
var errGone = errors.New("the object is gone")

// apply writes a status, and returns the object with it.
func (a *api) apply(ctx context.Context, k *known, status projection.Status) (*known, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := json.Marshal(application{
		metav1.TypeMeta{APIVersion: projection.GroupVersion.String(), Kind: projection.Kind}, identity{k.Namespace, k.Name, k.UID}, status,
	})
	if err != nil {
		return nil, err
	}
	force := true
	// Tries are ours to time.
	var o projection.MigrationLedger
	err = a.client.Patch(types.ApplyPatchType).Namespace(k.Namespace).Resource(projection.Resource).Name(k.Name).SubResource("status").
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager, Force: &force}, a.params).
		MaxRetries(0).Body(body).Do(within).Into(&o)
	if err == nil {
		return hold(&o), nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	// Where the object is there, it is its status that is not.
	if _, err = a.get(ctx, k); err == nil {
		err = errNoStatus
	}
	return nil, err
}

var errNoStatus = diag.WithHint(errors.New("the API server knows no status of a MigrationLedger"),
	"the CustomResourceDefinition has no status subresource: install that of this version of hallmark")

// explain is an error of the API server for a person, who reads neither its address nor
// an account in it.
func explain(action string, err error) error {
	hint := ""
	var fact error
	switch unreachable := (*url.Error)(nil); {
	case err == nil:
		return nil
	case errors.Is(err, errGone), errors.Is(err, errNoStatus):
		fact = err
	case apierrors.IsNotFound(err):
		fact = errors.New("the API server knows no MigrationLedger")
		hint = "install the CustomResourceDefinition of " + projection.Resource + "." + projection.Group + ", manifests/ledger/crd.yaml"
	case apierrors.IsForbidden(err):
		fact = errors.New("the API server forbids it")
		hint = "the account needs get, list and watch of " + projection.Resource + ", and patch of " + projection.Resource + "/status"
	case apierrors.IsUnauthorized(err):
		fact = errors.New("the API server does not accept the credentials")
	case apierrors.IsTooManyRequests(err):
		fact = errors.New("the API server asks to come back later")
	case apierrors.IsConflict(err):
		fact = errors.New("the object is another one by now")
	case errors.As(err, &unreachable), errors.Is(err, context.DeadlineExceeded):
		fact = errors.New("the API server cannot be reached")
		if number := syscall.Errno(0); errors.As(err, &number) {
			fact = fmt.Errorf("%w: %w", fact, number)
		}
	default:
		fact = err
	}
	err = fmt.Errorf("%s: %w", action, fact)
	if hint == "" { // the fact may have one
		return err
	}
	return diag.WithHint(err, hint)
}
