package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// readTimeout limits the time of requests to endpoints without noTimeout. Searches and filters may
// read many persons, so it is rather long.
const readTimeout = 20 * time.Second

// handler returns the handler of an endpoint. It checks the key, its scopes and the access to the
// project or organization, and then reads the body, in the order of §1.5, and then the parameters
// of a list.
func (s *server) handler(e *endpoint) handler {
	do, list := e.bind(s), e.isList()
	return func(w http.ResponseWriter, r *http.Request) error {
		if !e.noTimeout {
			ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		c := s.call(w, r)
		if e.noTimeout {
			c.recheck = func() error { return s.recheck(c, e) }
		}
		c.pageSize = e.pageSize
		if e.unread {
			c.lease = s.budget.NewLease(w, r, s)
			defer c.lease.Release()
		}
		err := s.open(c, e)
		if err == nil && list {
			c.listValues, err = e.readList(w, c.query(), s.Decider.Now())
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
func (s *server) answer(c *call, e *endpoint, result any) error {
	status := cmp.Or(e.status, http.StatusOK)
	if a, ok := result.(answer); ok {
		switch {
		case a.sent:
			return nil
		case a.raw != nil:
			c.w.Header().Set("Content-Type", a.kind)
			c.w.WriteHeader(a.status)
			_, _ = c.w.Write(a.raw) // a write error means that the client has disconnected
			return nil
		case a.body == nil:
			c.w.WriteHeader(a.status)
			return nil
		}
		status, result = a.status, a.body
	} else if e.bare {
		if !prefersBody(c.r) || result == nil {
			c.w.WriteHeader(status)
			return nil
		}
		c.w.Header().Set("Preference-Applied", representation)
	} else if e.response == nil {
		c.w.WriteHeader(status)
		return nil
	}
	if list, ok := result.(interface{ Counted() (int, any) }); ok {
		result = c.wrap(list.Counted())
	}
	return writeJSON(c.w, status, result)
}

// wrap returns a page of a list with links to the next and previous page (§3).
func (c *call) wrap(count int, results any) any {
	p := c.requestedPage()
	out := struct {
		Count    int     `json:"count"`
		Next     *string `json:"next"`
		Previous *string `json:"previous"`
		Results  any     `json:"results"`
	}{Count: count, Results: results, Previous: c.previous(p)}
	if p.offset+p.limit < count {
		out.Next = c.link(p.parameters(p.offset + p.limit))
	}
	return out
}
