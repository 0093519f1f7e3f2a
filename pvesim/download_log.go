package pvesim

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// hostPort is where the URL leads, as wget writes it.
func (d *download) hostPort() (host, port string) {
	u, err := url.Parse(d.url)
	if err != nil {
		return d.url, ""
	}
	port = u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
		if port == "" {
			port = "80"
		}
	}
	return u.Hostname(), port
}

// unreachable is what wget says when there is no answer.
func (d *download) unreachable(t *task, err error) error {
	host, port := d.hostPort()
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &dns):
		t.logf("Resolving %s (%s)... failed: Name or service not known.", host, host)
		return die("download failed: wget: unable to resolve host address '%s'", host)
	case errors.As(err, &cert), errors.As(err, &unknown):
		t.logf("Connecting to %s:%s... connected.", host, port)
		t.logf("ERROR: cannot verify %s's certificate:", host)
		return die("download failed: To connect to %s insecurely, use `--no-check-certificate'.", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return die("download failed: Connecting to %s:%s... failed: Connection refused.", host, port)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return die("download failed: Connecting to %s:%s... failed: Connection timed out.", host, port)
	}
	return die("download failed: Connecting to %s:%s... failed: %v.", host, port, errors.Unwrap(err))
}

func (d *download) logAnswer(t *task, res *http.Response) {
	host, port := d.hostPort()
	t.logf("Connecting to %s:%s... connected.", host, port)
	t.logf("HTTP request sent, awaiting response... %s", res.Status)
}

// wgetSize writes a size as wget does: "2.9K".
func wgetSize(n float64) string {
	unit := ""
	for _, next := range []string{"K", "M", "G", "T"} {
		if n < 1024 {
			break
		}
		n, unit = n/1024, next
	}
	switch {
	case unit == "":
		return strconv.FormatInt(int64(n), 10)
	case n < 10:
		return fmt.Sprintf("%.1f%s", n, unit)
	}
	return fmt.Sprintf("%.0f%s", n, unit)
}

// logSaved writes the progress and the end of a download.
func (d *download) logSaved(t *task, tmp string, size int64, took time.Duration) {
	took = max(took, 5*time.Millisecond)
	rate := float64(size) / took.Seconds()
	t.logf("Length: %d (%s)", size, wgetSize(float64(size)))
	t.logf("Saving to: '%s'", tmp)
	const line = 32 << 20
	for at := int64(line); at < size; at += max(line, (size/copySteps+line-1)/line*line) {
		t.logf("%6dK ........ ........ ........ ........ %2d%% %s %.0fs", (at-line)>>10, at*100/size, wgetSize(rate), float64(size-at)/rate)
	}
	t.logf("%6dK                                    100%% %5s=%gs", size/line*line>>10, wgetSize(rate), float64(took.Milliseconds())/1000)
	t.logf("%s (%s) - '%s' saved [%d/%d]", t.now().UTC().Format(time.DateTime), wgetRate(rate), tmp, size, size)
}

func wgetRate(rate float64) string {
	unit := "B/s"
	for _, next := range []string{"KB/s", "MB/s", "GB/s"} {
		if rate < 1024 {
			break
		}
		rate, unit = rate/1024, next
	}
	return fmt.Sprintf("%.3g %s", rate, unit)
}
