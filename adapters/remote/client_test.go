package remote_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// New rejects an invalid Config and leaves no goroutine behind.
func TestRemote_NewRefuses(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range []remote.Config{
		{}, {URL: "flags.example.com", ProjectKey: "phc_x", Key: "phs_x"}, {URL: "https://flags.example.com", Key: "phs_x"}, {URL: "https://flags.example.com", ProjectKey: "phc_x"},
	} {
		c.Dir = t.TempDir()
		if _, err := remote.New(c); err == nil || !strings.HasPrefix(err.Error(), "remote: Config.") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Close leaves no goroutine of the client or of its connections behind.
func TestRemote_NoGoroutineAfterClose(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`{"flags":{}}`)) }))
	defer server.Close()
	ignore := goleak.IgnoreCurrent()
	c, err := remote.NewClientOn(remote.Config{URL: server.URL, ProjectKey: "phc_x", Key: "phs_x"}, localSet(t, unknownMembers))
	if err != nil {
		t.Fatal(err)
	}
	track(t, c, 0, 5)
	if _, err := c.AskAll(ctx, &flags.Subject{DistinctID: "u"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections() // closes the server's side of the connections
	goleak.VerifyNone(t, ignore)
}
