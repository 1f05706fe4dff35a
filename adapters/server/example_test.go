package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// A program that embeds the server and has routes of its own.
func Example() {
	s, err := server.Open(context.Background(), server.Options{Definitions: []string{"../../testdata/demo.json"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler())
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "hello") })

	r := httptest.NewRequest("POST", "/flags?v=2", strings.NewReader(`{"api_key": "phc_demo", "distinct_id": "user-1"}`))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), `"new-onboarding"`))
	// Output: 200 true
}

// The server manages flags, evaluates them and accepts events inside of a program.
func ExampleServer_Management() {
	ctx := context.Background()
	s, err := server.Open(ctx, server.Options{APIKey: "phc_shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()
	rooms := s.Management()
	owner, err := rooms.Admit(ctx, &management.Caller{User: &management.User{Email: server.DefaultOwnerEmail}})
	if err != nil {
		fmt.Println(err)
		return
	}
	shop, err := rooms.Project(ctx, owner, management.CurrentRef)
	if err != nil {
		fmt.Println(err)
		return
	}
	flag, err := rooms.FeatureFlags.Create(ctx, shop, management.Body{Members: map[string]json.RawMessage{
		"key": json.RawMessage(`"discount"`), "filters": json.RawMessage(`{"groups": [{}]}`),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ana := &flags.Subject{DistinctID: "ana"}
	fmt.Println(flag.Key, s.Reader("phc_shop").Bool(ctx, flag.Key, ana, false))
	fmt.Println(s.Intake().Capture(ctx, "phc_shop", ana.DistinctID, "ordered", map[string]any{"total": 49}))
	// Output:
	// discount true
	// <nil>
}

// Decider evaluates all flags of a project in one call.
func ExampleServer_Decider() {
	ctx := context.Background()
	s, err := server.Open(ctx, server.Options{Definitions: []string{"../../testdata/demo.json"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	_, set, err := s.Decider().Project(ctx, "phc_demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	var out flags.Decisions
	set.Select(&flags.Subject{DistinctID: "user-1"}, s.Decider().Now(), &flags.Selection{}, &out)
	fmt.Println(out.Find("new-onboarding").Enabled)
	// Output: true
}
