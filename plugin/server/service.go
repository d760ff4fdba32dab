package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
	repository "github.com/argoproj/argo-cd/v2/reposerver/apiclient"
	"google.golang.org/protobuf/types/known/emptypb"

	"hallmark.dev/hallmark/plugin"
)

// service are the four methods of ConfigManagementPluginService.
type service struct{ *Server }

var _ apiclient.ConfigManagementPluginServiceServer = (*service)(nil)

// GenerateManifest renders an application.
func (s *service) GenerateManifest(from apiclient.ConfigManagementPluginService_GenerateManifestServer) error {
	return s.serve(from, methodGenerate, func(ctx context.Context, c *call) (send func() error, err error) {
		c.slot.add()
		c.request.Ended = c.slot.done
		answer, err := s.options.Cache.Render(ctx, c.request)
		if err != nil {
			return nil, err
		}
		c.generated(answer)
		response := &apiclient.ManifestResponse{Manifests: answer.Manifests}
		if size := response.Size(); size > apiclient.MaxGRPCMessageSize {
			return nil, fmt.Errorf("the manifests have %d bytes, more than the %d that Argo CD takes from a plugin (ARGOCD_GRPC_MAX_SIZE_MB, here and in repo-server)", size, apiclient.MaxGRPCMessageSize)
		}
		return func() error { return from.SendAndClose(response) }, nil
	})
}

// MatchRepository says whether an application is for this plugin. repo-server asks
// for those that name it as well, and takes a no for them too, unless it comes
// with the word that discovery is off (util/app/discovery, cmpSupports). So a no is
// always given in that form: to an application without a plugin's name it means
// the same. A folder that cannot be looked at is a no, because repo-server drops an
// error; GenerateManifest gives it to those that name the plugin.
func (s *service) MatchRepository(from apiclient.ConfigManagementPluginService_MatchRepositoryServer) error {
	return s.serve(from, methodMatch, func(_ context.Context, c *call) (send func() error, err error) {
		supported := false
		if s.discovers() {
			found, err := plugin.Recognise(c.request)
			if err != nil {
				c.warn(err)
			}
			supported = err == nil && (found.Marked || s.options.Discover == DiscoverAll && found.Renderer != plugin.RendererPlain)
		}
		c.note("supported", supported)
		response := &apiclient.RepositoryResponse{IsSupported: supported, IsDiscoveryEnabled: supported}
		return func() error { return from.SendAndClose(response) }, nil
	})
}

// GetParametersAnnouncement tells the UI about the parameters.
func (s *service) GetParametersAnnouncement(from apiclient.ConfigManagementPluginService_GetParametersAnnouncementServer) error {
	return s.serve(from, methodAnnounce, func(ctx context.Context, c *call) (send func() error, err error) {
		c.slot.add()
		c.request.Ended = c.slot.done
		announced, err := plugin.Announce(ctx, c.request)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// The list is complete, and the form made of it may be where the fault
		// is put right.
		c.warn(err)
		response := &apiclient.ParametersAnnouncementResponse{}
		for _, a := range announced {
			response.ParameterAnnouncements = append(response.ParameterAnnouncements, &repository.ParameterAnnouncement{
				Name: a.Name, Title: a.Title, Tooltip: a.Tooltip, Required: a.Required,
				ItemType: a.ItemType, CollectionType: a.CollectionType,
				String_: a.String, Array: a.Array, Map: a.Map,
			})
		}
		return func() error { return from.SendAndClose(response) }, nil
	})
}

// CheckPluginConfiguration is asked before each of the others.
func (s *service) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*apiclient.CheckPluginConfigurationResponse, error) {
	return &apiclient.CheckPluginConfigurationResponse{IsDiscoveryConfigured: s.discovers()}, nil
}

func (s *service) discovers() bool {
	return s.options.Discover == DiscoverMarked || s.options.Discover == DiscoverAll
}

// serve takes one request: a slot, the repository, the work, the answer. work
// returns how the answer is sent, because only the caller may do that: the work
// can outlast the request.
func (s *Server) serve(from stream, method string, work func(context.Context, *call) (send func() error, err error)) (err error) {
	c := s.begin(method)
	defer func() { err = c.end(err) }()
	ctx, cancel := early(from.Context())
	defer cancel()
	if c.slot, err = s.acquire(ctx); err != nil {
		drain(ctx, from)
		return err
	}
	defer c.slot.answered()

	type outcome struct {
		send func() error
		err  error
	}
	done := make(chan outcome, 1)
	c.slot.add()
	go func() {
		send, err := func() (send func() error, err error) {
			defer func() {
				if recover() != nil { // what it says may quote a secret
					send, err = nil, plugin.ErrPanic
				}
			}()
			if err := s.receive(from, c); err != nil {
				return nil, err
			}
			return work(ctx, c)
		}()
		// Before the answer, or it would look as if work outlasted it.
		c.slot.done()
		done <- outcome{send, err}
	}()
	select {
	case o := <-done:
		if o.err == nil {
			return o.send()
		}
		if ctx.Err() != nil {
			return reason(ctx)
		}
		return o.err
	case <-ctx.Done():
		return reason(ctx)
	}
}

// reason says why the time of a request is over: it may have been before it was
// looked at.
func reason(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return errDeadline
	}
	return cause
}

// receive reads the stream into the request of the call.
func (s *Server) receive(from stream, c *call) error {
	archive := newChunks(from)
	c.enter(stageReceive, "")
	meta, err := metadata(from)
	if err != nil {
		archive.rest()
		return err
	}
	r, err := request(meta)
	r.Limits, r.HashKey, r.Version, r.Stage = s.options.Limits, s.options.HashKey, s.options.Version, c.enter
	r.Keys, r.HealthChecked, r.Today, r.Found = s.options.Keys, s.options.HealthChecked, s.options.Now(), c.found
	if s.options.Policy != nil {
		r.Policy = s.options.Policy.Current()
	}
	if s.options.Seeds != nil && c.method == methodGenerate {
		r.Seeds = s.options.Seeds.Current()
	}
	c.describe(r)
	if err != nil && c.method == methodAnnounce {
		// A parameter that is wrong must not take away the form in which it is
		// put right: then the list is that of an application without parameters.
		c.warn(err)
		err = nil
	}
	if err == nil {
		err = receive(r, meta, archive, r.TreeLimits(s.options.TreeLimits))
	}
	archive.rest()
	c.received(archive.bytes, r)
	return err
}

// errDeadline ends a request while there is time to say so.
var errDeadline = errors.New("the request is not done before Argo CD's deadline for it; it can be moved (the controller's --repo-server-timeout-seconds), if the render should take that long")

// early is ctx with a deadline that leaves time for an answer, the same that
// argocd-cmp-server leaves.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, deadline.Add(-margin), errDeadline)
}
