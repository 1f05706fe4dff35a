// Command embedder is a service that mounts the server below several prefixes, for the tests of the
// console. With the argument own-sign-in its users sign in with the service: /login sets the cookie of
// the owner.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/adapters/console"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/management"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// who is the cookie with the email address of the user whom the service has signed in.
const who = "who"

func run(ctx context.Context) error {
	o := server.Options{Console: console.New(), SignIn: &server.SignIn{}, ManagementLimits: &httpapi.ManagementLimits{}}
	if len(os.Args) > 1 && os.Args[1] == "own-sign-in" {
		o.Authenticate = func(r *http.Request) (*management.Caller, error) {
			cookie, err := r.Cookie(who)
			if err != nil {
				return nil, nil
			}
			return &management.Caller{User: &management.User{Email: cookie.Value}}, nil
		}
	}
	s, err := server.Open(ctx, o)
	if err != nil {
		return err
	}
	projects, err := s.Projects(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler())
	mux.Handle("/ph/", http.StripPrefix("/ph", s.Handler()))
	router := chi.NewRouter()
	router.Mount("/chi/ph", s.Handler())
	mux.Handle("/chi/", router)
	mux.HandleFunc("/login", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: who, Value: server.DefaultOwnerEmail, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listens on http://%s\n%s %s\n", l.Addr(), s.OwnerKey(), projects[0].APIKey)
	return http.Serve(l, mux)
}
