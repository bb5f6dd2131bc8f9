#!/usr/bin/env perl
# A voter's device in Perl, written from the page "The wire format". It needs only Perl's core modules.
#
#     perl perl_device.pl vectors FILE                   check the published test vectors
#     perl perl_device.pl report STATE EPSILON <INPUT    print one report, and keep it in the file STATE
#
# INPUT is {"protocol": ..., "ballot": ...}, with a position or null for each item. EPSILON is the budget for all
# protocols. Randomizers: "rr", "laplace", "gaussian" and "hypercube", which takes 17 s for 200 items.
use v5.24;
use warnings;
no warnings 'portable';    # words have 64 bits
use B;
use Digest::SHA qw(sha256_hex);
use Encode qw(encode_utf8);
use Fcntl qw(:flock :mode SEEK_SET O_APPEND O_CREAT O_RDWR);
use File::Basename qw(dirname);
use IO::Handle;
use JSON::PP;
use List::Util qw(all sum0 uniq);
use Math::BigFloat;
use Math::BigInt;
use Scalar::Util qw(blessed);

use constant { GRID => 1 << 52, LARGEST => (1 << 53) - 1 };
my $json = JSON::PP->new->utf8->allow_bignum;    # fractions become objects, so 1.0 is not an integer
my %fields = (
    (map { $_ => 'n_queries flip' } qw(rr laplace gaussian)),
    'hypercube' => 'variant levels cap',
);

sub refuse_unless($$) { my ($valid, $name) = @_; die "this device refuses the input: $name.\n" unless $valid }

# Reads JSON without its error messages, which quote the text.
sub decoded { my ($text, $name) = @_; eval { $json->decode($text) } // die "$name is not JSON.\n" }

# --- values, the canonical text and the digest

sub is_text { defined $_[0] && !ref $_[0] && B::svref_2object(\$_[0])->FLAGS & B::SVf_POK }

sub is_number { defined $_[0] && !is_text($_[0]) && (!ref $_[0] || blessed $_[0] && $_[0]->isa('Math::BigFloat')) }

sub is_integer {
    my ($value, $low, $high) = @_;    # a copy: a comparison would turn a text into a number as well
    return is_number($_[0]) && !ref $value && $value >= $low && $value <= ($high // LARGEST);
}

sub is_list { my ($value, $size) = @_; ref $value eq 'ARRAY' && @$value == ($size // @$value) }

sub is_amount {
    my ($text) = @_;
    return is_text($_[0]) && length $text <= 64 && $text =~ /\A[0.]*[1-9]/
        && $text =~ /\A(0|[1-9][0-9]{0,19})(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?\z/;
}

sub canonical {
    my ($value) = @_;
    return 'null' unless defined $value;
    return '[' . join(',', map { canonical($_) } @$value) . ']' if ref $value eq 'ARRAY';
    return '{' . join(',', map { canonical($_) . ':' . canonical($value->{$_}) } sort keys %$value) . '}' if ref $value;
    return sprintf '%d', $value unless is_text($_[0]);
    my %short = ("\b" => 'b', "\t" => 't', "\n" => 'n', "\f" => 'f', "\r" => 'r', '"' => '"', '\\' => '\\');
    $value =~ s/(["\\\x00-\x1f])/'\\' . ($short{$1} \/\/ sprintf 'u%04x', ord $1)/ge;
    return qq("$value");
}

sub digest { substr sha256_hex(encode_utf8(canonical($_[0]))), 0, 16 }

# --- protocols and ballots

sub n_pairs { my $m = @{ $_[0]{items} }; $m * ($m - 1) / 2 }

sub n_bits { my ($bound) = @_; my $n = 0; $n++ while ($bound - 1) >> $n; return $n }

# What a report spends, rounded up.
sub price {
    my ($p) = @_;
    my ($times, $low) = $p->{levels} ? (1, $p->{levels}[1]) : ($p->{n_queries}, $p->{flip}[0]);
    my $ratio = Math::BigFloat->new($p->{levels} ? GRID : GRID - $low)->bdiv($low, 80);
    return $ratio->blog(undef, 70) * $times * Math::BigFloat->new('1e-55')->badd(1);
}

sub check_protocol {
    my ($p) = @_;
    refuse_unless(ref $p eq 'HASH' && is_text($p->{randomizer}) && $fields{ $p->{randomizer} }, 'randomizer');
    my @fields = sort qw(version randomizer items epsilon), split ' ', $fields{ $p->{randomizer} };
    refuse_unless("@fields" eq join(' ', sort keys %$p), 'fields');
    refuse_unless(is_integer($p->{version}, 3, 3), 'version');
    my @items = is_list($p->{items}) ? @{ $p->{items} } : ();
    refuse_unless(@items >= 2 && @items <= 65534, 'items');
    refuse_unless((all { is_text($_) ? length $_ <= 1000 : is_integer($_, -LARGEST) } @items), 'items');
    refuse_unless(@items == uniq(map { canonical($_) } @items), 'items');
    refuse_unless(is_amount($p->{epsilon}), 'epsilon');
    my $n = n_pairs($p);
    if ($p->{randomizer} eq 'hypercube') {
        refuse_unless(@items <= 200, 'items');
        refuse_unless(is_list($p->{levels}, 2) && is_integer($p->{levels}[0], GRID, GRID), 'levels');
        refuse_unless(is_integer($p->{levels}[1], 1, GRID), 'levels');
        refuse_unless(is_text($p->{variant}) && $p->{variant} =~ /\A(best_cap|half_tie)\z/, 'variant');
        my $capped = $p->{variant} eq 'best_cap';
        refuse_unless($capped ? is_integer($p->{cap}, 0) && 2 * $p->{cap} < $n : !defined $p->{cap}, 'cap');
    }
    else {
        my $most = $n > 1 << 27 ? 1 : $n < 65536 ? $n : 65536;
        refuse_unless(is_integer($p->{n_queries}, 1, $most), 'n_queries');
        refuse_unless(is_list($p->{flip}, 2) && is_integer($p->{flip}[0], 1, GRID / 2), 'flip');
        refuse_unless(is_integer($p->{flip}[1], GRID, GRID), 'flip');
    }
    refuse_unless(price($p) <= Math::BigFloat->new($p->{epsilon}), 'it spends more than it states');
}

sub check_ballot {
    my ($p, $ballot) = @_;
    refuse_unless(is_list($ballot, scalar @{ $p->{items} }) && (all { !defined || is_number($_) } @$ballot), 'ballot');
}

# --- what is drawn from random words: a stream is a function that returns the next word

sub system_words {
    open my $source, '<:raw', '/dev/urandom' or die "the system has no source of random bytes: $!\n";
    return sub { read($source, my $bytes, 8) == 8 or die "the system gives no random bytes\n"; unpack 'Q', $bytes };
}

sub coins {
    my ($word, $n) = @_;
    return split //, substr unpack('B*', pack 'Q<*', map { $word->() } 1 .. ($n + 63) / 64), 0, $n;
}

sub integers {
    my ($word, $bound, $n) = @_;
    my $mask = (1 << n_bits($bound)) - 1;
    my @drawn = map { $word->() & $mask } 1 .. $n;
    while (my @again = grep { $drawn[$_] >= $bound } 0 .. $#drawn) { $drawn[$_] = $word->() & $mask for @again }
    return @drawn;
}

# --- reports

sub pair_of {
    my ($number, $m) = @_;
    my $i = 0;
    for (; $number >= $m - 1 - $i; $i++) { $number -= $m - 1 - $i }
    return [$i, $i + 1 + $number];
}

sub drawn_pairs {
    my ($p, $assignment) = @_;
    my ($n, %drawn, @numbers) = n_pairs($p);
    for my $top ($n - $p->{n_queries} .. $n - 1) {
        my ($number) = integers($assignment, $top + 1, 1);
        $number = $top if $drawn{$number};
        $drawn{$number} = push @numbers, $number;
    }
    return map { pair_of($_, scalar @{ $p->{items} }) } @numbers;
}

# 1 if the ballot puts the first item of a pair first, 0 if it puts the second first, the coin if it has no opinion.
sub opinion {
    my ($ballot, $pair, $coin) = @_;
    my ($first, $second) = @{$ballot}[@$pair];
    return 0 + (defined $first && defined $second && $first != $second ? $first < $second : $coin);
}

sub signs {
    my ($p, $ballot, $streams) = @_;
    my ($d, $low, $noise) = (n_pairs($p), $p->{levels}[1], $streams->{noise});
    my ($ways, $total, @ends) = (Math::BigInt->new(1), Math::BigInt->new(0));
    for my $k (0 .. $d) {
        my $level = defined $p->{cap} ? ($k <= $p->{cap} ? GRID : $low)
            : 2 * $k == $d ? GRID + $low : 2 * (2 * $k < $d ? GRID : $low);
        $total += $ways * $level;
        push @ends, $total->copy;
        $ways = $ways * ($d - $k) / ($k + 1);
    }
    my ($lead, $length, $flips) = (Math::BigInt->new(integers($noise, 1 << 63, 1)), 63, 0);
    for (;;) {
        $flips++ while $lead * $total >= $ends[$flips] << $length;
        last if ($lead + 1) * $total <= $ends[$flips] << $length;
        ($lead, $length) = (($lead << 64) + $noise->(), $length + 64);
    }
    my (@keys, @order);
    do {
        @keys = map { my $word = $noise->(); ($word & 0xffffffff, $word >> 32) } 1 .. ($d + 1) / 2;
        @order = sort { $keys[$a] <=> $keys[$b] } 0 .. $d - 1;
    } while ($flips > 0 && $flips < $d && $keys[ $order[$flips - 1] ] == $keys[ $order[$flips] ]);
    my @coins = coins($streams->{coins}, $d);
    my @signs = map { opinion($ballot, pair_of($_, scalar @{ $p->{items} }), $coins[$_]) } 0 .. $d - 1;
    $signs[$_] ^= 1 for @order[0 .. $flips - 1];
    return unpack 'H*', pack 'B*', join '', @signs;
}

sub draw_report {
    my ($p, $ballot, $streams) = @_;
    return { protocol => digest($p), signs => signs($p, $ballot, $streams) } if $p->{randomizer} eq 'hypercube';
    my @pairs = drawn_pairs($p, $streams->{assignment});
    my @coins = coins($streams->{coins}, scalar @pairs);
    my @noise = integers($streams->{noise}, GRID, scalar @pairs);
    my @answers = map { opinion($ballot, $pairs[$_], $coins[$_]) ^ ($noise[$_] < $p->{flip}[0]) } 0 .. $#pairs;
    return { protocol => digest($p), pairs => \@pairs, answers => \@answers };
}

# --- commands

# The lock excludes other processes. A report and its price are on the disk before it is printed, also if a killed
# process wrote them.
sub report {
    my ($file, $budget, $input) = @_;
    my ($p, $ballot) = ref $input eq 'HASH' ? @{$input}{qw(protocol ballot)} : ();
    refuse_unless(is_amount($budget), 'EPSILON');
    check_protocol($p);
    check_ballot($p, $ballot);
    sysopen my $state, $file, O_RDWR | O_CREAT | O_APPEND, S_IRUSR | S_IWUSR or die "$file: $!\n";
    flock $state, LOCK_EX or die "$file: $!\n";
    seek $state, 0, SEEK_SET;
    my %kept = map { $_->{report}{protocol} => $_ } map { decoded($_, $file) } <$state>;
    my $own = $kept{ digest($p) };
    if (!$own) {
        my $price = price($p);
        my $spent = sum0(map { Math::BigFloat->new($_->{price}) } values %kept);
        refuse_unless($spent + $price <= Math::BigFloat->new($budget), 'the budget is spent');
        my $word = system_words();
        my $report = draw_report($p, $ballot, { noise => $word, coins => $word, assignment => $word });
        $own = { price => $price->bsstr, report => $report };
        say $state canonical($own) or die "$file: $!\n";
    }
    open my $folder, '<', dirname($file) or die "$file: $!\n";
    $state->flush && $state->sync && $folder->sync or die "$file: $!\n";    # the folder has the name of a new file
    return $own->{report};
}

sub check_vectors {
    my ($vectors) = @_;
    my @reports = grep { $fields{ $_->{protocol}{randomizer} } } @{ $vectors->{reports} };
    my @refused = grep { $fields{ $_->{protocol}{randomizer} } } @{ $vectors->{refused_protocols} };
    for my $vector (@reports) {
        check_protocol($vector->{protocol});
        check_ballot($vector->{protocol}, $vector->{ballot});
        my (%left, %streams);
        for my $name (qw(noise coins assignment)) {
            $left{$name} = [map { hex } @{ $vector->{words}{$name} }];
            $streams{$name} = sub { shift @{ $left{$name} } // die "$vector->{name}: too few words\n" };
        }
        my $report = draw_report(@{$vector}{qw(protocol ballot)}, \%streams);
        die "$vector->{name}: another report\n" if canonical($report) ne canonical($vector->{report});
        die "$vector->{name}: words are left\n" if grep { @$_ } values %left;
    }
    for my $vector (@refused) {
        die "$vector->{name}: accepted\n" if eval { check_protocol($vector->{protocol}); 1 };
    }
    for my $vector (@{ $vectors->{refused_texts} }) {
        die "$vector->{name}: accepted\n" if eval { check_protocol(decoded(encode_utf8($vector->{text}), 'text')); 1 };
    }
    for my $vector (grep { $fields{ $_->{protocol}{randomizer} } } @{ $vectors->{refused_ballots} }) {
        die "a wrong ballot: accepted\n" if eval { check_ballot(@{$vector}{qw(protocol ballot)}); 1 };
    }
    check_protocol($_->{protocol}) for grep { $fields{ $_->{protocol}{randomizer} } } @{ $vectors->{accepted_protocols} };
    return @reports . ' reports are as in the vectors, ' . @refused . ' protocols are refused';
}

my ($command, $file, $budget) = @ARGV;
if (@ARGV == 2 && $command eq 'vectors') {
    open my $vectors, '<:raw', $file or die "$file: $!\n";
    say check_vectors(decoded(join('', <$vectors>), $file));
}
elsif (@ARGV == 3 && $command eq 'report') {
    say canonical(report($file, $budget, decoded(join('', <STDIN>), 'INPUT')));
}
else {
    die "usage: perl perl_device.pl vectors FILE\n       perl perl_device.pl report STATE EPSILON <INPUT\n"
}
