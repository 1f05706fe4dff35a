package sdk

import (
	"sync"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
)

// Service serves flags and what SDKs read to evaluate them.
type Service struct {
	*frame.Server
	access      *Access
	streams     *streams.Streams
	limits      *admission.Limiters
	flagsBudget *admission.Budget
	scratch     sync.Pool // of *scratch, the buffers of one flags request
	Evaluations evaluationCounter
	renewals    renewals
	scripts     *Scripts // the copy of posthog-js; may be nil
}

// New returns the service of a server. files may be nil.
func New(s *frame.Server, access *Access, all *streams.Streams, limits *admission.Limiters, flagsBudget *admission.Budget, files *Scripts) *Service {
	sdk := &Service{Server: s, access: access, streams: all, limits: limits, flagsBudget: flagsBudget, scripts: files}
	sdk.scratch.New = func() any { return newScratch(s.Decider) }
	return sdk
}
