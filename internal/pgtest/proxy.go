package pgtest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// A Proxy stands between a client and a database and can cut the network between
// them, stop it at a message, and count round trips. It needs sslmode=disable, which
// the addresses of a Server have.
type Proxy struct {
	DSN string // the database through the proxy

	server   string
	listener net.Listener
	syncs    atomic.Int64

	mu    sync.Mutex
	hook  func(toServer bool, data []byte) bool
	links map[*link]bool
	cut   bool
	dead  bool
}

// A link is one connection through the proxy. Data waits while it is held.
type link struct {
	client, server net.Conn
	freed          chan struct{} // closed while data flows
}

// NewProxy is a proxy to the database of dsn, which ends with the test.
func NewProxy(t testing.TB, dsn string) *Proxy {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: address.Host, listener: l, links: map[*link]bool{}}
	address.Host = l.Addr().String()
	p.DSN = address.String()
	done := make(chan struct{})
	go func() { defer close(done); p.accept() }()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		p.mu.Lock()
		p.dead = true
		p.mu.Unlock()
		p.Mend() // nobody waits for ever
		p.Drop()
	})
	return p
}

// Cut stops the flow of data, as a broken network does: nobody is told. New
// connections are accepted and hang.
func (p *Proxy) Cut() { p.set(true) }

// Mend lets the data flow again, what was held first.
func (p *Proxy) Mend() { p.set(false) }

func (p *Proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == cut {
		return
	}
	p.cut = cut
	for l := range p.links {
		if cut {
			l.freed = make(chan struct{})
		} else {
			close(l.freed)
		}
	}
}

// Drop closes all connections.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		_, _ = l.client.Close(), l.server.Close()
	}
}

// OnData calls f with all that passes, as it comes; a statement's text is in what a
// client sends in one piece. Where f returns false the data is not passed on, and
// the network is cut from then on.
func (p *Proxy) OnData(f func(toServer bool, data []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = f
}

// RoundTrips is how often clients have waited for the server so far, the
// establishment of connections aside.
func (p *Proxy) RoundTrips() int { return int(p.syncs.Load()) }

func (p *Proxy) accept() {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client, server: server, freed: make(chan struct{})}
		p.mu.Lock()
		p.links[l] = true
		if !p.cut {
			close(l.freed)
		}
		if p.dead {
			_, _ = client.Close(), server.Close()
		}
		p.mu.Unlock()
		for _, toServer := range []bool{true, false} {
			go p.pass(l, toServer)
		}
	}
}

// sync ends what a client sends before it waits for an answer; query is the simple
// protocol's.
var syncMessage = []byte{'S', 0, 0, 0, 4}

func (p *Proxy) pass(l *link, toServer bool) {
	from, to := l.server, l.client
	if toServer {
		from, to = to, from
	}
	defer func() {
		_, _ = l.client.Close(), l.server.Close()
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if toServer && (bytes.HasSuffix(buf[:n], syncMessage) || buf[0] == 'Q') {
				p.syncs.Add(1)
			}
			p.mu.Lock()
			hook := p.hook
			p.mu.Unlock()
			if hook != nil && !hook(toServer, bytes.Clone(buf[:n])) {
				p.Cut()
				_, _ = io.Copy(io.Discard, from) // until the client gives up
				return
			}
			p.mu.Lock()
			freed := l.freed
			p.mu.Unlock()
			<-freed
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
