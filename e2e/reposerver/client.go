package reposerver

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A Client calls repo-server.
type Client struct{ connection *grpc.ClientConn }

// NewClient returns a client of the repo-server at address, which is without TLS.
func NewClient(t testing.TB, address string) *Client {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(Codec{}), grpc.MaxCallRecvMsgSize(Largest)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return &Client{connection}
}

// Healthy asks whether the server is up.
func (c *Client) Healthy(ctx context.Context) error {
	_, err := c.call(ctx, "/grpc.health.v1.Health/Check", nil)
	return err
}

// GenerateManifest sends a ManifestRequest and returns the ManifestResponse,
// whose field 1 are the manifests.
func (c *Client) GenerateManifest(ctx context.Context, request Message) (Message, error) {
	return c.call(ctx, "/repository.RepoServerService/GenerateManifest", request)
}

func (c *Client) call(ctx context.Context, method string, in Message) (Message, error) {
	var out Message
	if err := c.connection.Invoke(ctx, method, &in, &out); err != nil {
		return nil, err
	}
	return out, nil
}
