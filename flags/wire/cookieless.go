package wire

// CookielessID is the distinct id that browsers send when they keep nothing on the device.
// It is that of every such visitor, so that it says nothing about who somebody is.
const CookielessID = "$posthog_cookieless"
