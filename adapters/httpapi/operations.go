package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// getLiveness responds while the process can serve requests.
func getLiveness(w http.ResponseWriter, _ *http.Request) error {
	return frame.Send(w, frame.PlainText, []byte("ok\n"))
}

// readiness returns a handler that reports whether the server should receive requests, by
// Config.Ready. ErrDegraded counts as ready.
func readiness(ready func(context.Context) error) frame.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if ready != nil {
			err := ready(r.Context())
			if errors.Is(err, ErrDegraded) {
				return frame.Send(w, frame.PlainText, []byte(err.Error()+"\n"))
			}
			if err != nil {
				return problem.Unavailable.With(err.Error(), "")
			}
		}
		return frame.Send(w, frame.PlainText, []byte("ready\n"))
	}
}
