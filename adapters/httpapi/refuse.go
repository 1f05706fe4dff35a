package httpapi

import "net/http"

// refuseDeletion responds with 405 and no body, whether the object exists or not (A13).
func refuseDeletion[S any](_ S, c *call) (any, error) {
	c.w.Header().Set("Allow", "GET, HEAD, OPTIONS, PATCH, PUT")
	return answer{status: http.StatusMethodNotAllowed}, nil
}

// noBody is the handler of endpoints that always respond with an error status.
func noBody[S any](S, *call) (any, error) { return nil, nil }
