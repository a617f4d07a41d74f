//! Ports that are refused unless a rule of the operator names them.
//!
//! The services behind them read what they are sent line by line, or carry it out without asking who
//! sends it, so that an HTTP request may do something there. Nobody serves HTTP for others on them.

/// Chosen from the "bad ports" of the Fetch standard (mail, shells, files, names) and from the
/// databases, caches, queues and control planes that are attacked this way; in growing order.
pub(super) const DENIED_PORTS: &[u16] = &[
    20,    // FTP, data
    21,    // FTP
    22,    // SSH
    23,    // Telnet
    25,    // SMTP
    43,    // whois
    53,    // DNS
    69,    // TFTP
    79,    // finger
    110,   // POP3
    111,   // rpcbind
    119,   // NNTP
    123,   // NTP
    135,   // DCE endpoint mapper
    137,   // NetBIOS, names
    139,   // NetBIOS, sessions
    143,   // IMAP
    161,   // SNMP
    179,   // BGP
    389,   // LDAP
    445,   // SMB
    465,   // SMTP over TLS
    512,   // exec
    513,   // login
    514,   // shell
    515,   // printer
    548,   // AFP
    587,   // SMTP, submission
    636,   // LDAP over TLS
    873,   // rsync
    993,   // IMAP over TLS
    995,   // POP3 over TLS
    1433,  // SQL Server
    1521,  // Oracle
    2049,  // NFS
    2181,  // ZooKeeper
    2375,  // Docker, plain
    2376,  // Docker
    2379,  // etcd
    2380,  // etcd, peers
    3306,  // MySQL
    3389,  // RDP
    4369,  // Erlang port mapper
    5432,  // PostgreSQL
    5672,  // AMQP
    5900,  // VNC
    6000,  // X11
    6379,  // Redis
    6432,  // PgBouncer
    6667,  // IRC
    7000,  // Cassandra, between nodes
    9042,  // Cassandra
    9092,  // Kafka
    9200,  // Elasticsearch
    9300,  // Elasticsearch, between nodes
    10250, // kubelet
    11211, // memcached
    27017, // MongoDB
];

/// Whether a port is refused unless a rule names it.
pub fn is_denied_port(port: u16) -> bool {
    DENIED_PORTS.binary_search(&port).is_ok()
}
