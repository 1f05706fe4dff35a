// Command embedded is a shop with the whole of Bunting inside: PostHog's SDKs and the
// command line talk to /ph, and the shop's own session manages flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// projectKey is what SDKs get beside the address.
const projectKey = "phc_shop"

func main() {
	ctx := context.Background()
	// setup
	s, err := server.Open(ctx, server.Options{Data: "shop-data", APIKey: projectKey, Authenticate: signedIn})
	if err != nil {
		log.Fatal(err)
	}
	// end of setup
	err = http.ListenAndServe("127.0.0.1:8000", shop(s))
	log.Fatal(errors.Join(err, s.Close(ctx)))
}

func shop(s *server.Server) http.Handler {
	mux, reader := http.NewServeMux(), s.Reader(projectKey)
	mux.Handle("/ph/", s.Handler()) // setup
	mux.HandleFunc("GET /price", func(w http.ResponseWriter, r *http.Request) {
		price := 100
		if reader.Bool(r.Context(), "discount", &flags.Subject{DistinctID: r.FormValue("user")}, false) {
			price = 90
		}
		_, _ = fmt.Fprintln(w, price)
	})
	mux.HandleFunc("POST /order", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Intake().Capture(r.Context(), projectKey, r.FormValue("user"), "ordered", nil); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}

// signedIn knows the shop's own people by its own cookie.
func signedIn(r *http.Request) (*management.Caller, error) {
	if session, err := r.Cookie("session"); err != nil || session.Value != "the shopkeeper's" {
		return nil, nil // a personal key, or nobody
	}
	return &management.Caller{User: &management.User{Email: server.DefaultOwnerEmail}}, nil
}
