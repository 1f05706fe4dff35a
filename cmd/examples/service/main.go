// Command service has a search with a number of results that a flag sets for each user, and a page
// that passes its visitor's flags to posthog-js. The flags are in a file that is reread when it
// changes.
package main

import (
	"fmt"
	"html/template"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagshttp"
)

const projectKey = "phc_demo"

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
	r.Use(middleware.Recoverer)
	r.Use(flagshttp.Middleware(reader, signedIn, flagshttp.Cookie(projectKey))) // setup
	r.Get("/", func(w http.ResponseWriter, r *http.Request) {
		_ = page.Execute(w, flags.FromContext(r.Context()).Bootstrap())
	})
	r.Get("/search", func(w http.ResponseWriter, r *http.Request) {
		f := flags.FromContext(r.Context())
		if !f.Bool("search", true) {
			http.Error(w, "the search is closed", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "%g results\n", f.Number("search-results", 10))
	})
	return r
}

var page = template.Must(template.New("").Parse("<script>posthog.init('" + projectKey + "', {bootstrap: {{.}}})</script>\n"))

// signedIn returns the signed-in user. Other visitors are identified by the cookie of posthog-js.
func signedIn(r *http.Request) *flags.Subject {
	id, _, ok := r.BasicAuth()
	if !ok {
		return nil
	}
	return &flags.Subject{DistinctID: id, Person: flags.Properties{"language": r.Header.Get("Accept-Language")}}
}
