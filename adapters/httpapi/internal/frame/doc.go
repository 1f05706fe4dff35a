// Package frame is the way of a request through the HTTP API: from its route and its caller to its
// response.
//
// An [Endpoint] is a method and a path of a table. Endpoints of the management API are built with
// the functions of rows.go, such as [Get] and [Update]; their handlers receive a [Call] and return
// a value, or an [Answer]. [Serving] makes endpoints whose handlers write responses themselves. The
// [Area] of an endpoint is the prefix of its paths and what an error looks like (area.go).
//
// [Server.Observe] records each request as an exchange (exchange.go), and [Server.Router] finds its
// endpoint (router.go, mount.go). authenticate.go authenticates the caller, with sessions
// (session.go) or keys, frame.go runs the handler, and respond.go writes the response. lists.go has
// the parameters of lists, and listread.go and paging.go read them.
package frame
