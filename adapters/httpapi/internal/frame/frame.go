package frame

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// ReadTimeout limits the time of requests to endpoints without NoTimeout. Searches and filters may
// read many persons, so it is rather long.
const ReadTimeout = 20 * time.Second

// handler returns the handler of an endpoint. It checks the key, its scopes and the access to the
// project or organization, and then reads the body, in the order of §1.5, and then the parameters
// of a list.
func (s *Server) handler(e *Endpoint) Handler {
	do, list := e.bind(s), e.IsList()
	return func(w http.ResponseWriter, r *http.Request) error {
		if !e.NoTimeout {
			ctx, cancel := context.WithTimeout(r.Context(), ReadTimeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		c := s.call(w, r)
		if e.NoTimeout {
			c.Recheck = func() error { return s.recheck(c, e) }
		}
		c.pageSize = e.pageSize
		if e.Unread {
			c.Lease = s.Budget.NewLease(w, r, s)
			defer c.Lease.Release()
		}
		err := s.open(c, e)
		if err == nil && list {
			c.ListValues, err = e.ReadList(w, c.Query(), s.Decider.Now())
		}
		var result any
		if err == nil {
			result, err = do(c)
		}
		if err != nil {
			return problem.OfManagement(err)
		}
		return s.answer(c, e, result)
	}
}

// representation is the preference for a response with a body (RFC 7240).
const representation = "return=representation"

// prefersBody reports whether a Prefer header of the request contains representation.
func prefersBody(r *http.Request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(line, ",") {
			first, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.ReplaceAll(strings.TrimSpace(first), `"`, ""), representation) {
				return true
			}
		}
	}
	return false
}

// answer writes the response for the result of an endpoint.
func (s *Server) answer(c *Call, e *Endpoint, result any) error {
	status := cmp.Or(e.Status, http.StatusOK)
	if a, ok := result.(Answer); ok {
		switch {
		case a.Sent:
			return nil
		case a.Raw != nil:
			c.W.Header().Set("Content-Type", a.Kind)
			c.W.WriteHeader(a.Status)
			_, _ = c.W.Write(a.Raw) // a write error means that the client has disconnected
			return nil
		case a.Body == nil:
			c.W.WriteHeader(a.Status)
			return nil
		}
		status, result = a.Status, a.Body
	} else if e.Bare {
		if !prefersBody(c.R) || result == nil {
			c.W.WriteHeader(status)
			return nil
		}
		c.W.Header().Set("Preference-Applied", representation)
	} else if e.Response == nil {
		c.W.WriteHeader(status)
		return nil
	}
	if list, ok := result.(interface{ Counted() (int, any) }); ok {
		result = c.wrap(list.Counted())
	}
	return WriteJSON(c.W, status, result)
}

// wrap returns a page of a list with links to the next and previous page (§3).
func (c *Call) wrap(count int, results any) any {
	p := c.requestedPage()
	out := struct {
		Count    int     `json:"count"`
		Next     *string `json:"next"`
		Previous *string `json:"previous"`
		Results  any     `json:"results"`
	}{Count: count, Results: results, Previous: c.Previous(p)}
	if p.Offset+p.Limit < count {
		out.Next = c.Link(p.Parameters(p.Offset + p.Limit))
	}
	return out
}
