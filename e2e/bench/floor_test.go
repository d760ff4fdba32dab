package bench

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"hallmark.dev/hallmark/e2e/reposerver"
)

// serveFloor starts a plugin server that does no work: it drops the repository
// and answers with manifests. It stops with the test.
func serveFloor(t testing.TB, plugins, name string, manifests []string) {
	t.Helper()
	var answer reposerver.Message
	for _, m := range manifests {
		answer = answer.Text(1, m)
	}
	// Of the other methods repo-server calls CheckPluginConfiguration, and an
	// empty message says that there is no discovery.
	handler := func(_ any, stream grpc.ServerStream) error {
		for {
			var received reposerver.Message
			if err := stream.RecvMsg(&received); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
		}
		out := reposerver.Message{}
		if method, _ := grpc.MethodFromServerStream(stream); method == "/plugin.ConfigManagementPluginService/GenerateManifest" {
			out = answer
		}
		return stream.SendMsg(&out)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(reposerver.Codec{}), grpc.UnknownServiceHandler(handler), grpc.MaxSendMsgSize(reposerver.Largest))
	listener, err := net.Listen("unix", filepath.Join(plugins, name+".sock"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }() // until Stop
	t.Cleanup(server.Stop)
}
