package settings

// tlsSettings are the settings of HTTPS.
var tlsSettings = []setting{
	{"tls-cert", text, "FILE", []string{""}, "PEM file with the certificate chain, the server's own first, to serve HTTPS; read again on SIGHUP",
		func(c *Config, v []string) error { c.TLS.Cert = v[0]; return nil }},
	{"tls-key", text, "FILE", []string{""}, "PEM file with the private key of --tls-cert",
		func(c *Config, v []string) error { c.TLS.Key = v[0]; return nil }},
}

// Scheme returns the scheme of the server's URL, http or https.
func (c *Config) Scheme() string {
	if c.TLS.Cert != "" {
		return "https"
	}
	return "http"
}
