package sdk

import "github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"

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
