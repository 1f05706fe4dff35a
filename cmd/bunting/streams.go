package main

import "github.com/bunting-flags/bunting/adapters/httpapi"

// streaming is what serves streams of definitions now, nil before there is
// anything. (A server without its database has none: it knows no keys.)
func (s *server) streaming() *httpapi.Handler {
	h := s.front.handler.Load()
	if h == nil {
		return nil
	}
	api, _ := (*h).(*httpapi.Handler)
	return api
}

// endStreams ends all streams when the server begins to stop: it would wait for
// some of them and forget the others.
func (s *server) endStreams() {
	if h := s.streaming(); h != nil {
		h.CloseStreams()
	}
}
