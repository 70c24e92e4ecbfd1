package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// lab is a proxy on its own TLS listener, in front of an API server that speaks HTTP/2 as the real one does.
type lab struct {
	*proxy
	url     string
	admin   *httptest.Server
	client  *http.Client
	pending sync.WaitGroup
}

const token = "the-token"

// newLab starts a lab. What it starts ends with the test.
func newLab(t *testing.T, apiServer http.HandlerFunc) *lab {
	t.Helper()
	upstream := httptest.NewUnstartedServer(apiServer)
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	return newLabFor(t, upstream.URL)
}

func newLabFor(t *testing.T, target string) *lab {
	t.Helper()
	u, err := parseTarget(target)
	check(t, err)
	l := &lab{proxy: newProxy(newForwarder(u, token), newDice(1))}
	certificate, err := selfSigned()
	check(t, err)
	listener, err := listenLoopback("127.0.0.1:0")
	check(t, err)
	server := newTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.pending.Add(1)
		defer l.pending.Done()
		l.ServeHTTP(w, r)
	}), certificate)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	l.url = "https://" + listener.Addr().String()
	l.admin = httptest.NewServer(l.proxy.admin())
	t.Cleanup(l.admin.Close)
	l.client = newClient(t, true)
	return l
}

func newClient(t *testing.T, http2 bool) *http.Client {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: http2,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// put replaces the faults.
func (l *lab) put(t *testing.T, faults string) {
	t.Helper()
	if got := do(t, http.DefaultClient, http.MethodPut, l.admin.URL+"/faults", faults); got.code != http.StatusOK {
		t.Fatalf("PUT /faults: %d %s", got.code, got.body)
	}
}

func (l *lab) do(t *testing.T, method, path, body string) answer {
	t.Helper()
	return do(t, l.client, method, l.url+path, body)
}

// answer is a whole response.
type answer struct {
	code   int
	header http.Header
	proto  int
	body   string
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

func do(t *testing.T, c *http.Client, method, url, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	check(t, err)
	response, err := c.Do(request)
	check(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	check(t, err)
	return answer{response.StatusCode, response.Header, response.ProtoMajor, string(bytes.TrimSpace(content))}
}

// sleeps stands in for real waiting and notes how long it would have taken.
type sleeps struct {
	mu    sync.Mutex
	taken []time.Duration
}

func (s *sleeps) sleep(_ context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, d)
	return nil
}

// take returns the notes, and forgets them.
func (s *sleeps) take() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.taken
	s.taken = nil
	return taken
}

func (s *sleeps) expect(t *testing.T, what string, want ...time.Duration) {
	t.Helper()
	if got := s.take(); !slices.Equal(got, want) {
		t.Errorf("%s: slept %v, want %v", what, got, want)
	}
}

func (l *lab) expectCounts(t *testing.T, want countsJSON) {
	t.Helper()
	var got countsJSON
	do(t, http.DefaultClient, http.MethodGet, l.admin.URL+"/counts", "").decode(t, &got)
	if got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

// ok is an API server that answers everything with its method and path.
func ok(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Method+" "+r.URL.Path) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parsed(t *testing.T, document string) *faults {
	t.Helper()
	f, err := parseFaults(strings.NewReader(document))
	check(t, err)
	return f
}

// TestMain lets the test binary stand in for the program: see program_test.go.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}
