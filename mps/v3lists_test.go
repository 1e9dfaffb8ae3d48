package mps_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

const (
	v3GPU      = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65"
	serverCSV  = "name,uid,pid,status,pipe-directory,allowed-devices,context-ids\n"
	clientCSV  = "pid,server,device,namespace,cmd\n"
	deviceCSV  = "Ordinal,Server,PCI ID,Device UUID,Name,Total SMs,Total Chunks,Attributes\n"
	partCSV    = "server,device,name,chunks,sm-count,include-remainder,status,visible-uuid\n"
	featureCSV = "FEATURE,STATE,MODULE,COVERS\n"
)

func TestParseV3Servers(t *testing.T) {
	t.Parallel()
	training := mps.V3Server{Name: "training", UID: 1000, PID: 48201, Status: "Ready", PipeDirectory: "/run/mps/training"}
	with := func(devices ...string) []mps.V3Server {
		s := training
		s.AllowedDevices = devices
		return []mps.V3Server{s}
	}
	const row = "training,1000,48201,Ready,/run/mps/training,"
	for name, test := range map[string]struct {
		text string
		want []mps.V3Server
	}{
		"none":                 {serverCSV, []mps.V3Server{}},
		"csv":                  {serverCSV + row + "GPU-1,-\n", with("GPU-1")},
		"csv in capitals":      {strings.ToUpper(serverCSV) + row + "-,-\n", with()},
		"csv with blanks":      {"NAME, UID, PID, STATUS, PIPE DIRECTORY, ALLOWED DEVICES, CONTEXT IDS\r\n" + row + "GPU-1,-\r\n", with("GPU-1")},
		"csv in another order": {"pid,extra,name,uid,status,allowed-devices,context-ids,pipe-directory\n48201,x,training,1000,Ready,-,-,/run/mps/training\n", with()},
		"quoted list":          {serverCSV + row + "\"0,1\",-\n", with("0", "1")},
		"bare list of UUIDs":   {serverCSV + row + "GPU-1,MIG-2,-\n", with("GPU-1", "MIG-2")},
		"list of blanks":       {serverCSV + row + "GPU-1 MIG-2,-\n", with("GPU-1", "MIG-2")},
		"not running":          {serverCSV + "a,-,-,Stopped,,,\n", []mps.V3Server{{Name: "a", UID: -1, Status: "Stopped"}}},
		"table": {
			"NAME      UID   PID    STATUS  PIPE DIRECTORY     ALLOWED DEVICES  CONTEXT IDS\n" +
				"training  1000  48201  Ready   /run/mps/training  GPU-1            -\n", with("GPU-1"),
		},
		"table with empty cells": {
			"NAME      UID   PID    STATUS  PIPE DIRECTORY     ALLOWED DEVICES  CONTEXT IDS\n" +
				"training  1000  48201  Ready   /run/mps/training\n", with(),
		},
		"table to the right": {
			"    NAME   UID    PID  STATUS     PIPE DIRECTORY  ALLOWED DEVICES  CONTEXT IDS\n" +
				"training  1000  48201   Ready  /run/mps/training            GPU-1            -\n", with("GPU-1"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mps.ParseV3Servers(test.text)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
	for name, text := range map[string]string{
		"empty":                  "",
		"sentence":               "Cannot find MPS control daemon process\n",
		"no header":              row + "GPU-1,-\n",
		"column is missing":      "name,uid,pid,status,pipe-directory,allowed-devices\n",
		"short row":              serverCSV + "training,1000\n",
		"ambiguous list":         serverCSV + row + "0,1,2\n",
		"ambiguous UUIDs":        serverCSV + row + "GPU-1,GPU-2,GPU-3\n",
		"uid is no number":       serverCSV + "training,root,48201,Ready,/run,-,-\n",
		"pid is negative":        serverCSV + "training,0,-7,Ready,/run,-,-\n",
		"no name":                serverCSV + "-,0,7,Ready,/run,-,-\n",
		"sentence after header":  serverCSV + "error: server is gone\n",
		"table with new columns": "NAME UID PID STATUS PIPE-DIRECTORY ALLOWED-DEVICES CONTEXT-IDS MORE\na 1 2 Ready /run - - x\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mps.ParseV3Servers(text)
			require.Error(t, err)
			assert.Nil(t, got)
		})
	}
}

func TestParseV3Others(t *testing.T) {
	t.Parallel()
	namespaces, err := mps.ParseV3Namespaces("NAME,SERVER,SERVER STATUS,PINNED MEMORY LIMIT,ACTIVE THREAD PERCENTAGE,CLIENT PRIORITY,PIPE DIRECTORY\n" +
		"default,training,Ready,-,-,-,/run/mps/training\nlow,training,Ready,4G,30.00,1,/run/mps/training/low\n")
	require.NoError(t, err)
	assert.Equal(t, []mps.V3Namespace{
		{Name: "default", Server: "training", ServerStatus: "Ready", ClientPriority: -1, PipeDirectory: "/run/mps/training"},
		{
			Name: "low", Server: "training", ServerStatus: "Ready", PinnedMemoryLimit: "4G", Percentage: 30, ClientPriority: 1,
			PipeDirectory: "/run/mps/training/low",
		},
	}, namespaces)

	clients, err := mps.ParseV3Clients(clientCSV + "51023,training,0,default,python train.py --devices 0,1 \"a\"\n")
	require.NoError(t, err)
	want := []mps.V3Client{{PID: 51023, Server: "training", Device: "0", Namespace: "default", Command: `python train.py --devices 0,1 "a"`}}
	assert.Equal(t, want, clients)
	clients, err = mps.ParseV3Clients("PID    WHERE     GPU  NS       COMMAND LINE\n51023  training  0    default  python train.py --devices 0,1 \"a\"\n")
	require.Error(t, err, "a table whose columns have unknown names of two words cannot be cut")
	assert.Nil(t, clients)
	clients, err = mps.ParseV3Clients("PID WHERE GPU NS COMMAND\n51023 training 0 default python train.py --devices 0,1 \"a\"\n")
	require.NoError(t, err)
	assert.Equal(t, want, clients)

	devices, err := mps.ParseV3Devices(deviceCSV + "0,training,0000:17:00.0," + v3GPU + ",NVIDIA H100 80GB HBM3,132,15,-\n1,-,-,GPU-2,-,-,-,a,b\n")
	require.NoError(t, err)
	assert.Equal(t, []mps.V3Device{
		{Server: "training", PCI: "0000:17:00.0", UUID: v3GPU, Name: "NVIDIA H100 80GB HBM3", SMs: 132, Chunks: 15},
		{Ordinal: 1, UUID: "GPU-2", SMs: -1, Chunks: -1, Attributes: "a,b"},
	}, devices)

	partitions, err := mps.ParseV3Partitions("SERVER DEVICE NAME CHUNKS SM-COUNT INCLUDE-REMAINDER STATUS VISIBLE-UUID\n" +
		"training " + v3GPU + " large 4 34 false created Kp8A\ntraining " + v3GPU + " - 1 8 - unallocated -\n- " + v3GPU + " - 2 - - unallocated -\n")
	require.NoError(t, err)
	assert.Equal(t, []mps.V3Partition{
		{Server: "training", Device: v3GPU, Name: "large", Chunks: 4, SMs: 34, Status: "created", VisibleUUID: "Kp8A"},
		{Server: "training", Device: v3GPU, Chunks: 1, SMs: 8, Status: "unallocated"},
		{Device: v3GPU, Chunks: 2, SMs: -1, Status: "unallocated"},
	}, partitions)

	featured := []mps.V3Feature{
		{Name: "memacct", Enabled: true, Default: true, Module: "memacct"}, {Name: "context-share", Module: "context-share"},
	}
	for _, text := range []string{
		"FEATURE STATE MODULE COVERS\nmemacct enabled (default) memacct -\ncontext-share disabled context-share -\n",
		"FEATURE        STATE              MODULE         COVERS\nmemacct        enabled (default)  memacct        -\ncontext-share  disabled           context-share  -\n",
		featureCSV + "memacct,enabled (default),memacct,-\ncontext-share,disabled,context-share,-\n",
	} {
		features, err := mps.ParseV3Features(text)
		require.NoError(t, err)
		assert.Equal(t, featured, features)
	}

	for name, parse := range map[string]func() error{
		"percentage": func() error {
			_, err := mps.ParseV3Namespaces("name,server,server-status,pinned-memory-limit,active-thread-percentage,client-priority,pipe-directory\na,b,Ready,-,130,-,/run\n")
			return err
		},
		"client pid":      func() error { _, err := mps.ParseV3Clients(clientCSV + "-,a,0,default,x\n"); return err },
		"client header":   func() error { _, err := mps.ParseV3Clients("who,server,device,namespace,cmd\n"); return err },
		"ordinal":         func() error { _, err := mps.ParseV3Devices(deviceCSV + "x,-,-,-,-,-,-,-\n"); return err },
		"a server's name": func() error { _, err := mps.ParseV3Partitions(partCSV + "-,0,b,1,8,true,created,-\n"); return err },
		"remainder":       func() error { _, err := mps.ParseV3Partitions(partCSV + "a,0,b,1,8,maybe,created,-\n"); return err },
		"state":           func() error { _, err := mps.ParseV3Features(featureCSV + "memacct,perhaps,memacct,-\n"); return err },
		"too many in row": func() error { _, err := mps.ParseV3Partitions("a b\n" + partCSV); return err },
	} {
		assert.Error(t, parse(), name)
	}
}

// A list that is written in any of the three forms reads as it was.
func TestV3ServersRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9_]{1,12}`)
		var servers []mps.V3Server
		cells := [][]string{{"NAME", "UID", "PID", "STATUS", "PIPE-DIRECTORY", "ALLOWED-DEVICES", "CONTEXT-IDS"}}
		for range rapid.IntRange(0, 5).Draw(t, "servers") {
			s := mps.V3Server{
				Name: name.Draw(t, "name"), UID: rapid.IntRange(-1, 70000).Draw(t, "uid"),
				PID: rapid.IntRange(0, 1<<22).Draw(t, "pid"), Status: rapid.SampledFrom([]string{"Ready", "Starting"}).Draw(t, "status"),
				PipeDirectory: "/run/" + name.Draw(t, "dir"), ContextIDs: rapid.SampledFrom([]string{"", "7"}).Draw(t, "contexts"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "devices") {
				s.AllowedDevices = append(s.AllowedDevices, "GPU-"+rapid.StringMatching(`[0-9a-f]{1,8}`).Draw(t, "device"))
			}
			servers = append(servers, s)
			row := []string{s.Name, fmt.Sprint(s.UID), fmt.Sprint(s.PID), s.Status, s.PipeDirectory, strings.Join(s.AllowedDevices, ","), s.ContextIDs}
			for i, cell := range row {
				if cell == "" || i == 1 && s.UID == -1 || i == 2 && s.PID == 0 {
					row[i] = "-"
				}
			}
			cells = append(cells, row)
		}
		for _, form := range []struct {
			name string
			row  func([]string) string
		}{
			{"csv", func(row []string) string { return strings.Join(row, ",") }},
			{"one blank", func(row []string) string { return strings.Join(row, " ") }},
			{"aligned", func(row []string) string {
				return fmt.Sprintf("%-14s%-8s%-10s%-10s%-20s%-42s%s", row[0], row[1], row[2], row[3], row[4], row[5], row[6])
			}},
			{"aligned to the right", func(row []string) string {
				return fmt.Sprintf("%14s%8s%10s%10s%20s%42s%14s", row[0], row[1], row[2], row[3], row[4], row[5], row[6])
			}},
		} {
			var text strings.Builder
			for _, row := range cells {
				text.WriteString(form.row(row) + "\n")
			}
			got, err := mps.ParseV3Servers(text.String())
			require.NoError(t, err, "%s\n%s", form.name, text.String())
			require.Len(t, got, len(servers))
			for i := range servers {
				require.Equal(t, servers[i], got[i], "%s\n%s", form.name, text.String())
			}
		}
	})
}

func FuzzParseV3(f *testing.F) {
	f.Add(serverCSV + "training,1000,48201,Ready,/run/mps/training,\"GPU-1,GPU-2\",-\n")
	f.Add(clientCSV + "51023,training,0,default,python \"a\",b\n")
	f.Add("SERVER DEVICE NAME CHUNKS SM-COUNT INCLUDE-REMAINDER STATUS VISIBLE-UUID\na GPU-1 b 4 34 false created K\n")
	f.Add("FEATURE STATE MODULE COVERS\nmemacct enabled (default) memacct -\n")
	f.Fuzz(func(t *testing.T, text string) {
		servers, err := mps.ParseV3Servers(text)
		if err != nil {
			assert.Nil(t, servers)
		}
		for _, s := range servers {
			assert.NotEmpty(t, s.Name)
			assert.GreaterOrEqual(t, s.PID, 0)
		}
		namespaces, _ := mps.ParseV3Namespaces(text)
		for _, n := range namespaces {
			assert.NotEmpty(t, n.Server)
			assert.GreaterOrEqual(t, n.Percentage, 0.0)
		}
		clients, _ := mps.ParseV3Clients(text)
		for _, c := range clients {
			assert.GreaterOrEqual(t, c.PID, 0)
		}
		devices, _ := mps.ParseV3Devices(text)
		for _, d := range devices {
			assert.GreaterOrEqual(t, d.Chunks, -1)
		}
		partitions, _ := mps.ParseV3Partitions(text)
		for _, p := range partitions {
			assert.NotEmpty(t, p.Status)
		}
		features, _ := mps.ParseV3Features(text)
		for _, x := range features {
			assert.NotEmpty(t, x.Name)
		}
	})
}
