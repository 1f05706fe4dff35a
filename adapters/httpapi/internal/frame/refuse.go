package frame

import "net/http"

// RefuseDeletion responds with 405 and no body, whether the object exists or not (A13).
func RefuseDeletion[S any](_ S, c *Call) (any, error) {
	c.W.Header().Set("Allow", "GET, HEAD, OPTIONS, PATCH, PUT")
	return Answer{Status: http.StatusMethodNotAllowed}, nil
}

// NoBody is the handler of endpoints that always respond with an error status.
func NoBody[S any](S, *Call) (any, error) { return nil, nil }
