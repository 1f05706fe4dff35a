package httpapi_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// A service with its own flags: PostHog's SDKs use the host with the path /ph. Intake, History and
// Management would enable the other routes.
func ExampleNew() {
	definitions, err := flags.ParseDefinitions([]byte(`{"flags": [{"id": 1, "key": "new-checkout", "active": true,
		"filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}]}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_example", flags.Project{ID: 1}, definitions)})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider})
	if err != nil {
		log.Fatal(err)
	}
	router := chi.NewRouter()
	router.Mount("/ph", handler)

	server := httptest.NewServer(router)
	defer server.Close()
	answer, err := http.Post(server.URL+"/ph/flags?v=1", "application/json",
		strings.NewReader(`{"api_key": "phc_example", "distinct_id": "ana", "person_properties": {"plan": "pro"}}`))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	fmt.Println(strings.Contains(string(body), `"featureFlags":{"new-checkout":true}`), err)
	// Output: true <nil>
}

// A rate is a number of requests and the time in which it refills.
func ExampleParseRate() {
	rate, err := httpapi.ParseRate("600/minute")
	fmt.Println(rate.PerSecond, err)
	// Output: 10 <nil>
}
