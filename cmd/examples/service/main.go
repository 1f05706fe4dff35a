// Command service searches, with as many results as a flag says to whom it says it. The
// flags stand in a file that is read again when it changes.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/bunting-flags/bunting/flags"
)

func main() {
	// setup
	file, err := flags.Open("testdata/demo.json", func(err error) { log.Println("flags were read again:", err) })
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	// end of setup
	log.Fatal(http.ListenAndServe("127.0.0.1:8000", routes(file)))
}

func routes(reader flags.Reader) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer, known)
	r.Get("/search", func(w http.ResponseWriter, r *http.Request) {
		ctx, who := r.Context(), subject(r)
		if !reader.Bool(ctx, "search", who, true) {
			http.Error(w, "the search is closed", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "%g results for %s\n", reader.Number(ctx, "search-results", who, 10), who.DistinctID)
	})
	return r
}

type subjectKey struct{}

// known is the middleware that knows who sends a request.
func known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _, ok := r.BasicAuth()
		if !ok {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		who := &flags.Subject{DistinctID: id, Person: flags.Properties{"language": r.Header.Get("Accept-Language")}}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), subjectKey{}, who)))
	})
}

func subject(r *http.Request) *flags.Subject {
	return r.Context().Value(subjectKey{}).(*flags.Subject)
}
