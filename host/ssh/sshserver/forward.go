package sshserver

import (
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Forward serves a channel of the type direct-tcpip: it connects the client with the target
// that dial connects to.
func Forward(c ssh.NewChannel, dial func(host string, port uint32) (net.Conn, error)) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(c.ExtraData(), &to); err != nil {
		_ = c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	if to.Port > 65535 {
		_ = c.Reject(ssh.ConnectionFailed, fmt.Sprintf("%s:%d is no address", to.Host, to.Port))
		return
	}
	conn, err := dial(to.Host, to.Port)
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer conn.Close()
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	go ssh.DiscardRequests(requests)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(channel, conn) // either end may hang up
		_ = channel.CloseWrite()
	})
	both.Go(func() {
		_, _ = io.Copy(conn, channel)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	})
	both.Wait()
}
