// Command embedded is a shop that embeds the Bunting server: PostHog's SDKs and the command line
// use it below /ph, and the session of the shop authorizes the management of flags.
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

// projectKey is the public key with which SDKs are configured.
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

// signedIn authenticates the shop's own users by the shop's cookie.
func signedIn(r *http.Request) (*management.Caller, error) {
	if session, err := r.Cookie("session"); err != nil || session.Value != "the shopkeeper's" {
		return nil, nil // authenticate by a personal key instead
	}
	return &management.Caller{User: &management.User{Email: server.DefaultOwnerEmail}}, nil
}
