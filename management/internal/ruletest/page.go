package ruletest

// DefaultPage is the length of a page if the request has no limit (§3).
const DefaultPage = 100
