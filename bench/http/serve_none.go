//go:build !ours

package main

import "errors"

// serveOurs needs adapters/httpapi, which the tag brings in.
func serveOurs(int) error {
	return errors.New("built without our server: use go run -tags ours ./http")
}
