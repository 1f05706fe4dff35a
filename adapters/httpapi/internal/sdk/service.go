package sdk

import (
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
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

// FlagEndpoints returns the endpoints for flags and definitions, which need a Decider. Each path is
// served with and without a trailing slash.
func (s *Service) FlagEndpoints() []frame.Endpoint {
	return slices.Concat(
		frame.Serving(frame.ForSDKs, "/flags", frame.Methods{"POST": withFormat(flagsFormat, s.evaluate), "GET": withFormat(flagsFormat, s.minimal)}),
		frame.Serving(frame.ForSDKs, "/decide", frame.Methods{"POST": withFormat(decideFormat, s.evaluate), "GET": withFormat(decideFormat, s.minimal)}),
		frame.Serving(frame.ForSDKs, "/flags/definitions", frame.Methods{"GET": s.getDefinitions}),
		frame.Uncompressed(frame.Serving(frame.ForSDKs, "/flags/definitions/stream", frame.Methods{"GET": s.getDefinitionsStream})),
		frame.Serving(frame.ForSDKs, "/api/feature_flag/local_evaluation", frame.Methods{"GET": s.getOldLocalEvaluation}),
		frame.Serving(frame.ForSDKs, "/api/projects/{project}/feature_flags/local_evaluation", frame.Methods{"GET": s.getLocalEvaluation}),
		frame.Serving(frame.ForSDKs, "/api/environments/{project}/feature_flags/local_evaluation", frame.Methods{"GET": s.getLocalEvaluation}),
		frame.Serving(frame.ForBrowser, "/api/projects/{project}/feature_flags/{flag}/remote_config", frame.Methods{"GET": s.getRemoteConfig}),
		frame.Serving(frame.ForBrowser, "/array/config", frame.Methods{"GET": s.getArrayConfig}), // for /array//config, where the token is missing
		frame.Serving(frame.ForBrowser, "/array/config.js", frame.Methods{"GET": s.getArrayConfigJS}),
		frame.Serving(frame.ForBrowser, "/array/{token}/config", frame.Methods{"GET": s.getArrayConfig}),
		frame.Serving(frame.ForBrowser, "/array/{token}/config.js", frame.Methods{"GET": s.getArrayConfigJS}),
	)
}

// The errors of flags, definitions and remote configuration (§9.11).
var (
	problemProject          = problem.Problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Project not found."}
	problemNoToken          = problem.Problem{Status: 401, Type: "authentication_error", Code: "not_authenticated", Detail: "No API token provided. Please include a valid API token in your request."}
	problemBadPersonalKey   = problem.Problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "Personal API key is invalid."}
	problemBadSecretKey     = problem.Problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "Secret API token is invalid."}
	problemNoScope          = problem.Problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "Personal API key lacks required scopes (feature_flag:read or feature_flag:write)."}
	problemForeignProject   = problem.Problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "API key does not have access to the requested project."}
	problemTokenParameter   = problem.Problem{Status: 400, Type: "validation_error", Code: "required", Detail: "The token parameter is missing from the request. Please include the project API key."}
	problemQuota            = problem.Problem{Status: 402, Type: "quota_limited", Code: "payment_required", Detail: "You have exceeded your feature flag request quota"}
	problemRateLimited      = problem.Problem{Status: 429, Type: "validation_error", Code: "rate_limit_exceeded", Detail: "Rate limit exceeded", RetryAfter: 1}
	problemBodyUnreadable   = problem.Problem{Status: 400, Type: "validation_error", Code: "invalid_request", Detail: "Failed to decode request: the body ended early. Please check your request format and try again."}
	problemRemoteConfigFlag = problem.Problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Not found: there is no such remote configuration flag."}
)
