package settings

// tlsSettings are rows of the table of settings.
var tlsSettings = []setting{
	{"tls-cert", text, "FILE", []string{""}, "certificates in PEM, the server's own first: serve HTTPS; read again on SIGHUP",
		func(c *Config, v []string) error { c.Tls.Cert = v[0]; return nil }},
	{"tls-key", text, "FILE", []string{""}, "private key in PEM of --tls-cert",
		func(c *Config, v []string) error { c.Tls.Key = v[0]; return nil }},
}

// tlsFiles hold the certificate of the server; both empty: plain HTTP.
type TlsFiles struct{ Cert, Key string }

// scheme is how the server is reached.
func (c *Config) Scheme() string {
	if c.Tls.Cert != "" {
		return "https"
	}
	return "http"
}
