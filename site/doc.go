// Package site manages Proxmox clusters for any number of callers.
//
// A [Site] is one caller's part of a Proxmox cluster. The caller declares machines with
// [Site.Put] and [Site.Remove], or all at once with [Site.Want]; the site reconciles them
// until [Site.Close]. [Site.Await] waits for one, [Site.Watch] follows all, [Site.Read] and
// [Site.List] return what Proxmox has, and [Site.Plan] what would be done, without doing
// it. [Site.Apply] works on what is wanted until it is done, as a command does that ends.
//
// Callers that reach the same cluster with the same credentials share what works on it: one
// client, one observer, one engine session. So a hundred callers cause as many requests as
// one. Their wanted states are separate: no caller sees the objects of another, and no rule
// of one (anti-affinity, how many are restarted at once, what is pruned) counts those of
// another. [Sites] knows who shares what.
//
// Nothing is stored: machines carry the proof of their owner in Proxmox. A process that is
// killed puts the same machines again, and finds those that are there.
package site
