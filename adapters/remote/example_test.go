package remote_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// exampleServer represents your server. It has the flags "checkout", on for paying users, and
// "color", blue for all users.
func exampleServer() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /flags/definitions", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"flags": [
			{"id": 1, "key": "checkout", "active": true, "filters": {"groups": [{"rollout_percentage": 100,
				"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}},
			{"id": 2, "key": "color", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}],
				"multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]}}}]}`)
	})
	mux.HandleFunc("POST /batch/", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"status": 1}`) })
	return httptest.NewServer(mux)
}

func ExampleNew() {
	server := exampleServer()
	defer server.Close()
	url, dir := server.URL, filepath.Join(os.TempDir(), "bunting-example")
	defer func() { _ = os.RemoveAll(dir) }()

	client, err := remote.New(remote.Config{URL: url, ProjectKey: "phc_demo", Key: "phs_demo", Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.WaitForReady(ctx); err != nil {
		log.Fatal(err)
	}
	user := &flags.Subject{DistinctID: "user-1", Person: flags.Properties{"plan": "pro"}}
	fmt.Println(client.Bool(ctx, "checkout", user, false), client.String(ctx, "color", user, "grey"))
	_ = client.Track(ctx, user.DistinctID, "order placed", map[string]any{"amount": 49}, nil)
	fmt.Println(client.Close(ctx), client.Stats().Sent, "events sent")
	// Output:
	// true blue
	// <nil> 3 events sent
}

// In a web request, values stay the same until its end, and events include them.
func ExampleClient_For() {
	server := exampleServer()
	defer server.Close()
	client, err := remote.New(remote.Config{URL: server.URL, ProjectKey: "phc_demo", Key: "phs_demo", NoCopy: true})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.WaitForReady(ctx); err != nil {
		log.Fatal(err)
	}
	request := client.For(ctx, &flags.Subject{DistinctID: "user-1", Person: flags.Properties{"plan": "pro"}})
	fmt.Println(request.Bool("checkout", false), request.String("color", "grey"))
	_ = request.Track("order placed", map[string]any{"amount": 49}) // with $feature/checkout and $feature/color
	fmt.Println(request.Bootstrap().FeatureFlags)
	fmt.Println(client.Close(ctx), client.Stats().Sent, "events sent")
	// Output:
	// true blue
	// map[checkout:true color:blue]
	// <nil> 3 events sent
}
