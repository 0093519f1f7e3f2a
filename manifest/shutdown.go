package manifest

import "time"

// shutdownTimeout is how long a guest may take to shut down; 0: as Proxmox is set up.
func (b *build) shutdownTimeout(text string) time.Duration {
	if text == "" {
		return 0
	}
	const most = 24 * time.Hour
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > most || d%time.Second != 0 {
		b.fail("spec.updatePolicy.shutdownTimeout", "want a time from 1s to 24h, such as 90s or 5m, have %q", shortened(text))
		return 0
	}
	return d
}
